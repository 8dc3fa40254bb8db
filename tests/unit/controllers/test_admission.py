"""Caps of a member over its exports as they come, change and go, held against a plain count (F4)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from mcs.controllers.admission import Admission
from mcs.controllers.clusters import REFLECTED, ClusterCaches
from mcs.model.multicluster import ServiceExport
from mcs.model.names import ServiceKey
from mcs.model.policy import Caps, MemberPolicy
from mcs.runtime.cache import Cache
from mcs.services.observed import Cap
from mcs.testing.builders import export, slice_

KEYS = [ServiceKey("demo", f"web-{number}") for number in range(6)]


class Member:
    """The caches of a member with its admission; `told` is what it tells to have changed because of others."""

    def __init__(self, caps: Caps) -> None:
        self.caches = ClusterCaches.of({each.resource.plural: Cache(each.indexes) for each in REFLECTED})
        self.told: set[ServiceKey] = set()
        self.policy = MemberPolicy(caps=caps)
        self.admission = Admission(self.caches, self.policy, lambda delta: self.told.add(delta.key))
        self._version = 0

    def put(self, cache: Cache[Any], obj: Any) -> None:
        self._version += 1
        cache.put(replace(obj, metadata=replace(obj.metadata, resource_version=str(self._version))))

    def export(self, key: ServiceKey, created: int) -> None:
        self.put(self.caches.exports, export(key, created=created))

    def endpoints(self, key: ServiceKey, number: int) -> None:
        self.put(
            self.caches.slices, slice_(f"{key.name}-1", *(f"10.2.0.{n + 1}" for n in range(number)), key=key)
        )

    def beyond(self) -> dict[ServiceKey, Cap]:
        found = {each.key: self.admission.beyond(each) for each in self.caches.exports}
        return {key: cap for key, cap in found.items() if cap is not None}


def counted(member: Member) -> set[ServiceKey]:
    """What is beyond the caps, by looking at everything: oldest first, then by name, until one finds no room."""
    beyond, endpoints, is_full = set(), 0, False
    ordered = sorted(
        (each for each in member.caches.exports if member.policy.may_export_from(each.metadata.namespace)),
        key=lambda each: (each.metadata.creation_timestamp, each.key),
    )
    for place, each in enumerate(ordered):
        endpoints += sum(len(one.endpoints or ()) for one in member.caches.slices.by("service", each.key))
        is_full = is_full or place >= member.policy.caps.exports or endpoints > member.policy.caps.endpoints
        if is_full:
            beyond.add(each.key)
    return beyond


@pytest.mark.parametrize(
    ("case", "caps", "beyond"),
    [
        ("room for all", Caps(exports=3, endpoints=6), {}),
        ("the newest finds no room", Caps(exports=2), {KEYS[0]: "exports"}),
        ("none does", Caps(exports=0), dict.fromkeys(KEYS[:3], "exports")),
        ("too many endpoints together", Caps(endpoints=5), {KEYS[0]: "endpoints"}),
        (
            "behind the first that finds no room none is admitted",
            Caps(endpoints=1),
            dict.fromkeys(KEYS[:3], "endpoints"),
        ),
        (
            "of two caps the one that is met first",
            Caps(exports=1, endpoints=4),
            {KEYS[2]: "exports", KEYS[0]: "exports"},
        ),
    ],
)
def test_the_oldest_exports_are_within_the_caps(case: str, caps: Caps, beyond: dict[ServiceKey, Cap]) -> None:
    member = Member(caps)
    for key, created in ((KEYS[0], 3), (KEYS[1], 1), (KEYS[2], 2)):
        member.endpoints(key, 2)
        member.export(key, created)
    assert member.beyond() == beyond, case


def test_of_equally_old_exports_the_first_by_name_are() -> None:
    member = Member(Caps(exports=2))
    for key in reversed(KEYS[:3]):
        member.export(key, 1)
    assert set(member.beyond()) == {KEYS[2]}


def test_exports_of_denied_namespaces_take_no_room() -> None:
    member = Member(Caps(exports=1))
    member.export(ServiceKey("kube-system", "dns"), 0)
    member.export(KEYS[0], 1)
    assert member.beyond() == {}
    assert [member.admission.counts(each) for each in member.caches.exports] == [False, True]


def test_within_the_caps_nobody_is_told_of_others() -> None:
    member = Member(Caps())
    for number, key in enumerate(KEYS):
        member.export(key, -number)
        member.endpoints(key, 3)
    assert member.told == set()


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("export"), st.sampled_from(KEYS), st.integers(0, 3)),
        st.tuples(st.just("endpoints"), st.sampled_from(KEYS), st.integers(0, 4)),
        st.tuples(st.just("unexport"), st.sampled_from(KEYS), st.just(0)),
        st.tuples(st.just("no endpoints"), st.sampled_from(KEYS), st.just(0)),
    ),
    max_size=25,
)


@given(STEPS, st.integers(0, 5), st.integers(0, 9))
def test_the_count_that_is_kept_is_what_looking_at_everything_finds(
    steps: list[tuple[str, ServiceKey, int]], exports: int, endpoints: int
) -> None:
    member = Member(Caps(exports=exports, endpoints=endpoints))
    for what, key, number in steps:
        before = set(member.beyond())
        held = {each.key for each in member.caches.exports}
        member.told.clear()
        match what:
            case "export":
                member.export(key, number)
            case "endpoints":
                member.endpoints(key, number)
            case "unexport" if key in held:
                member.caches.exports.discard(key, "99999")
            case "no endpoints":
                member.caches.slices.discard(ServiceKey("demo", f"{key.name}-1"), "99999")
        after = set(member.beyond())
        assert after == counted(member)
        still = held & {each.key for each in member.caches.exports}
        assert (before ^ after) & still - {key} <= member.told


@given(STEPS, st.integers(1, 5))
def test_a_flood_of_newer_exports_disturbs_none_that_is_within(
    steps: list[tuple[str, ServiceKey, int]], exports: int
) -> None:
    member = Member(Caps(exports=exports))
    for what, key, number in steps:
        if what == "export":
            member.export(key, number)
    before = member.beyond()
    member.told.clear()
    for number in range(50):
        member.export(ServiceKey("demo", f"flood-{number}"), 1000 + number)
    assert before.items() <= member.beyond().items()
    assert member.told <= {ServiceKey("demo", f"flood-{number}") for number in range(50)}


def test_an_export_that_is_malformed_keeps_its_place() -> None:
    member = Member(Caps(exports=1))
    member.export(KEYS[0], 1)
    member.export(KEYS[1], 2)
    member.caches.exports.mark_malformed(KEYS[0], "50")
    assert set(member.beyond()) == {KEYS[1]}
    assert isinstance(member.caches.exports.get(KEYS[0]), ServiceExport)
