"""The cache: newest version wins, complete lists replace, malformed is not absent, indexes follow."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from mcs.model.meta import KubernetesObject, ObjectMeta
from mcs.model.names import ServiceKey
from mcs.runtime.cache import Cache, Delta

A = ServiceKey("demo", "a")
B = ServiceKey("demo", "b")


def obj(key: ServiceKey, version: int, uid: str = "1", **labels: str) -> KubernetesObject:
    metadata = ObjectMeta(
        name=key.name, namespace=key.namespace, uid=uid, resource_version=str(version), labels=labels
    )
    return KubernetesObject(metadata=metadata)


@pytest.fixture
def cache() -> Cache[KubernetesObject]:
    return Cache({"colour": lambda each: [each.metadata.labels.get("colour", "none")]})


@pytest.fixture
def deltas(cache: Cache[KubernetesObject]) -> list[Delta[KubernetesObject]]:
    heard: list[Delta[KubernetesObject]] = []
    cache.listen(heard.append)
    return heard


def version(cache: Cache[KubernetesObject], key: ServiceKey) -> str | None:
    held = cache.get(key)
    return held.metadata.resource_version if held else None


@pytest.mark.parametrize(
    ("events", "left"),
    [
        pytest.param([("put", 5), ("put", 7)], "7", id="a newer version replaces"),
        pytest.param(
            [("put", 7), ("put", 5)], "7", id="an older version, overtaken by our own write, is ignored"
        ),
        pytest.param([("put", 9), ("put", 10)], "10", id="versions are compared as numbers"),
        pytest.param([("put", 5), ("discard", 6)], None, id="a deletion removes"),
        pytest.param([("put", 7), ("discard", 6)], "7", id="a deletion of a predecessor is ignored"),
        pytest.param(
            [("put", 5), ("written", 5), ("put", 5)], None, id="events of before our own deletion are ignored"
        ),
        pytest.param(
            [("put", 5), ("written", 5), ("put", 8)], "8", id="a successor of what we deleted is taken in"
        ),
        pytest.param(
            [("put", 5), ("written", 5), ("discard", 6), ("put", 7)],
            "7",
            id="a successor after the deletion arrived",
        ),
    ],
)
def test_what_a_sequence_of_events_leaves(
    cache: Cache[KubernetesObject], events: list[tuple[str, int]], left: str | None
) -> None:
    for what, number in events:
        match what:
            case "put":
                cache.put(obj(A, number))
            case "discard":
                cache.discard(A, str(number))
            case "written":
                cache.discard_written(obj(A, number))
    assert version(cache, A) == left


def test_listeners_hear_each_change_once(
    cache: Cache[KubernetesObject], deltas: list[Delta[KubernetesObject]]
) -> None:
    first, second = obj(A, 1), obj(A, 2)
    for each in (first, first, second):
        cache.put(each)
    cache.discard(A, "3")
    assert deltas == [Delta(A, None, first), Delta(A, first, second), Delta(A, second, None)]


def test_a_complete_list_replaces_whatever_the_versions_say(
    cache: Cache[KubernetesObject], deltas: list[Delta[KubernetesObject]]
) -> None:
    cache.put(obj(A, 90))
    cache.put(obj(B, 91))
    del deltas[:]
    cache.replace([obj(A, 5)])
    assert (version(cache, A), version(cache, B)) == ("5", None)
    assert [(delta.key, delta.new is None) for delta in deltas] == [(B, True), (A, False)]


def test_a_cache_is_synced_by_its_first_complete_list_alone(cache: Cache[KubernetesObject]) -> None:
    cache.put(obj(A, 1))
    assert not cache.is_synced
    cache.replace([])
    assert cache.is_synced


def test_a_malformed_object_keeps_its_last_good_version(cache: Cache[KubernetesObject]) -> None:
    cache.put(obj(A, 1))
    cache.mark_malformed(A)
    cache.replace([], malformed={A: "3"})
    assert version(cache, A) == "1"
    assert A in cache.malformed
    cache.put(obj(A, 4))
    assert not cache.malformed
    assert version(cache, A) == "4"


def test_listeners_hear_when_an_unknown_object_becomes_malformed_and_ceases_to_be(
    cache: Cache[KubernetesObject], deltas: list[Delta[KubernetesObject]]
) -> None:
    cache.mark_malformed(A)
    cache.discard(A, "9")
    cache.replace([], malformed={B: "9"})
    cache.replace([])
    assert deltas == [Delta(key, None, None) for key in (A, A, B, B)]


def test_indexes_follow_every_change(cache: Cache[KubernetesObject]) -> None:
    def named(colour: str) -> list[str]:
        return [each.metadata.name for each in cache.by("colour", colour)]

    cache.put(obj(B, 1, colour="red"))
    cache.put(obj(A, 2, colour="red"))
    assert named("red") == ["a", "b"]
    cache.put(obj(A, 3, colour="blue"))
    assert (named("red"), named("blue")) == (["b"], ["a"])
    cache.discard(B, "4")
    assert named("red") == []
    assert cache.values("colour") == ["blue"]


@pytest.mark.parametrize(
    "well_again",
    [
        pytest.param(lambda cache: cache.put(obj(A, 4)), id="a newer version"),
        pytest.param(lambda cache: cache.discard(A, "4"), id="its end"),
        pytest.param(lambda cache: cache.replace([obj(A, 1)]), id="a list with the last good version"),
    ],
)
def test_listeners_hear_when_an_object_that_is_held_is_malformed_no_more(
    cache: Cache[KubernetesObject],
    deltas: list[Delta[KubernetesObject]],
    well_again: Callable[[Cache[KubernetesObject]], None],
) -> None:
    cache.put(obj(A, 1))
    cache.mark_malformed(A)
    del deltas[:]
    well_again(cache)
    assert deltas[-1] == Delta(A, None, None)
    assert A not in cache.malformed


def test_a_malformed_version_that_a_write_of_ours_has_overcome_is_of_no_account(
    cache: Cache[KubernetesObject], deltas: list[Delta[KubernetesObject]]
) -> None:
    cache.put(obj(A, 10))
    del deltas[:]
    cache.mark_malformed(A, "8")
    assert A not in cache.malformed
    assert deltas == []


def test_a_malformed_version_of_an_old_list_is_overcome_by_the_versions_that_follow(
    cache: Cache[KubernetesObject], deltas: list[Delta[KubernetesObject]]
) -> None:
    cache.put(obj(A, 10))
    cache.replace([], malformed={A: "8"})
    del deltas[:]
    cache.put(obj(A, 8))
    assert A in cache.malformed
    cache.put(obj(A, 9))
    cache.put(obj(A, 10))
    assert A not in cache.malformed
    assert deltas == [Delta(A, None, None)]
