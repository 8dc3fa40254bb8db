"""A cache that keeps what is in demand: what is set aside has not gone, and what is awaited is not absent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from mcs.model.meta import KubernetesObject, ObjectMeta
from mcs.model.names import ServiceKey
from mcs.model.resources import SERVICE_EXPORTS
from mcs.runtime.aside import OnDemand
from mcs.runtime.cache import Cache, Delta

A, B = ServiceKey("demo", "a"), ServiceKey("demo", "b")
WEB, DB = ServiceKey("demo", "web"), ServiceKey("demo", "db")


def obj(key: ServiceKey, version: str, of: ServiceKey = WEB, **labels: str) -> KubernetesObject:
    metadata = ObjectMeta(
        name=key.name, namespace=key.namespace, resource_version=version, labels={"of": of.name, **labels}
    )
    return KubernetesObject(metadata=metadata)


class Kept:
    """A cache with one object of WEB and one of DB, of which `demanded` are in demand."""

    def __init__(self, *demanded: ServiceKey, kept_anyway: str = "") -> None:
        self.demanded = set(demanded)
        self.cache: Cache[KubernetesObject] = Cache(
            {
                "of": lambda each: [ServiceKey("demo", each.metadata.labels["of"])],
                "colour": lambda each: [each.metadata.labels.get("colour", "none")],
            },
            OnDemand(
                SERVICE_EXPORTS,
                lambda each: each.metadata.name == kept_anyway,
                lambda _: {},
                index="of",
                outlined=("colour",),
            ),
        )
        self.cache.replace([obj(A, "1"), obj(B, "2", DB)])
        self.cache.keep_only(self.demanded.__contains__)
        self.deltas: list[Delta[Any]] = []
        self.cache.listen(self.deltas.append)

    def demand(self, key: ServiceKey) -> object:
        self.demanded.add(key)
        self.cache.demand(key)
        demand = self.cache.awaited(key)
        assert demand is not None
        return demand

    def release(self, key: ServiceKey) -> None:
        self.demanded.discard(key)
        self.cache.release(key)

    @property
    def held(self) -> dict[str, str]:
        return {each.metadata.name: each.metadata.resource_version for each in self.cache}


def test_what_is_not_in_demand_is_set_aside_and_nobody_hears_of_it() -> None:
    kept = Kept(DB)
    assert kept.held == {"b": "2"}
    assert not kept.deltas
    kept.cache.put(obj(A, "3"))
    kept.cache.discard(A, "4")
    kept.cache.replace([obj(A, "5"), obj(B, "2", DB)])
    assert kept.held == {"b": "2"}
    assert not kept.deltas


def test_some_objects_are_kept_whatever_is_in_demand() -> None:
    assert Kept(kept_anyway="a").held == {"a": "1"}


def test_before_it_is_known_what_is_in_demand_everything_is_kept() -> None:
    cache: Cache[KubernetesObject] = Cache({}, OnDemand(SERVICE_EXPORTS, lambda _: False, lambda _: {}))
    cache.replace([obj(A, "1")])
    cache.demand(A)
    assert len(cache) == 1
    assert cache.awaited(A) is None


def test_what_the_first_list_brings_is_not_awaited() -> None:
    cache: Cache[KubernetesObject] = Cache({}, OnDemand(SERVICE_EXPORTS, lambda _: False, lambda _: {}))
    cache.keep_only({A}.__contains__)
    cache.demand(A)
    assert cache.awaited(A) is None
    cache.replace([obj(A, "1"), obj(B, "2")])
    assert [each.key for each in cache] == [A]


def test_an_object_that_comes_to_be_of_somebody_else_is_told_of_before_it_is_set_aside() -> None:
    kept = Kept(WEB)
    old, new = obj(A, "1"), obj(A, "3", DB)
    kept.cache.put(new)
    assert kept.held == {}
    assert kept.deltas == [Delta(A, old, new)]


def test_what_is_released_has_not_gone() -> None:
    kept = Kept(WEB)
    kept.release(WEB)
    assert kept.held == {}
    assert not kept.deltas
    assert not kept.cache.by("of", WEB)


Then = Callable[[Kept], object]


@pytest.mark.parametrize(
    ("then", "left"),
    [
        pytest.param(lambda _: None, {"a": "5"}, id="nothing: the answer fills the cache"),
        pytest.param(lambda kept: kept.cache.put(obj(A, "6")), {"a": "6"}, id="a later version wins"),
        pytest.param(
            lambda kept: kept.cache.put(obj(A, "4")), {"a": "5"}, id="a version that lags behind does not"
        ),
        pytest.param(
            lambda kept: kept.cache.put(obj(A, "x")), {"a": "x"}, id="what cannot be compared was told later"
        ),
        pytest.param(lambda kept: kept.cache.discard(A, "6"), {}, id="a later deletion wins"),
        pytest.param(
            lambda kept: kept.cache.discard(A, "4"), {"a": "5"}, id="a deletion of a predecessor does not"
        ),
        pytest.param(
            lambda kept: (kept.cache.discard(A, "6"), kept.cache.put(obj(A, "7"))),
            {"a": "7"},
            id="deleted and made again: the successor",
        ),
        pytest.param(
            lambda kept: (kept.cache.discard(A, "x"), kept.cache.put(obj(A, "7", DB))),
            {},
            id="deleted and made again for somebody else",
        ),
        pytest.param(
            lambda kept: kept.cache.put(obj(A, "6", DB)), {}, id="it has come to be of somebody else since"
        ),
        pytest.param(
            lambda kept: kept.cache.put(obj(A, "4", DB)), {"a": "5"}, id="it was of somebody else before"
        ),
        pytest.param(
            lambda kept: kept.cache.mark_malformed(A, "6"), {}, id="a malformed version is what counts"
        ),
        pytest.param(
            lambda kept: kept.cache.replace([obj(A, "3")]), {"a": "3"}, id="a complete list is an answer"
        ),
        pytest.param(lambda kept: kept.release(WEB), {}, id="not in demand any more"),
        pytest.param(
            lambda kept: (kept.release(WEB), kept.demand(WEB)),
            {},
            id="in demand again: what was told between the two is not in the answer to the first",
        ),
    ],
)
def test_what_is_told_before_the_answer_comes(then: Then, left: dict[str, str]) -> None:
    kept = Kept()
    demand = kept.demand(WEB)
    then(kept)
    kept.cache.fill(WEB, demand, [obj(A, "5")], {})
    assert kept.held == left


def test_what_was_set_aside_while_another_was_awaited_is_taken_from_a_list_of_the_same_version() -> None:
    kept = Kept()
    kept.demand(DB)
    kept.cache.put(obj(A, "6"))
    kept.cache.fill(WEB, kept.demand(WEB), [obj(A, "6")], {})
    assert kept.held == {"a": "6"}


def test_an_answer_is_believed_as_far_as_it_was_asked_for() -> None:
    kept = Kept(DB)
    kept.cache.discard(B, "7")
    kept.cache.fill(WEB, kept.demand(WEB), [obj(A, "5"), obj(B, "6", DB)], {})
    assert kept.held == {"a": "5"}
    assert kept.cache.awaited(WEB) is None


def test_a_malformed_object_of_an_answer_is_not_absent() -> None:
    kept = Kept()
    kept.cache.fill(WEB, kept.demand(WEB), [], {A: "5"})
    assert kept.cache.malformed == {A: "5"}


def test_what_went_is_remembered_only_until_all_is_answered() -> None:
    kept = Kept()
    demand = kept.demand(WEB)
    kept.cache.discard(A, "6")
    kept.cache.fill(WEB, demand, [], {})
    kept.cache.fill(WEB, kept.demand(WEB), [obj(A, "5")], {})
    assert kept.held == {"a": "5"}


def test_indexes_that_are_outlined_know_what_is_set_aside() -> None:
    kept = Kept(DB)
    assert set(kept.cache.values("colour")) == {"none"}
    kept.cache.put(obj(A, "3", colour="red"))
    assert set(kept.cache.values("colour")) == {"none", "red"}
    assert not kept.cache.by("colour", "red")
    assert kept.deltas == [Delta(A, None, None)]
    kept.cache.put(obj(A, "4", colour="red"))
    assert len(kept.deltas) == 1
    kept.cache.discard(A, "5")
    assert set(kept.cache.values("colour")) == {"none"}
    assert len(kept.deltas) == 2


def test_a_complete_list_tells_that_what_was_set_aside_has_gone() -> None:
    kept = Kept(DB)
    kept.cache.put(obj(A, "3", colour="red"))
    kept.cache.replace([obj(B, "2", DB)])
    assert set(kept.cache.values("colour")) == {"none"}


def test_an_object_is_outlined_or_held_never_both() -> None:
    kept = Kept(DB)
    kept.cache.put(obj(A, "3", colour="red"))
    kept.cache.fill(WEB, kept.demand(WEB), [obj(A, "3", colour="red")], {})
    kept.cache.put(obj(A, "4"))
    assert set(kept.cache.values("colour")) == {"none"}
