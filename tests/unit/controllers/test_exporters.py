"""What is kept of who exports what equals what the caches say, and a plan looks at exporters alone."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from types import FrameType
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from mcs.controllers.clusters import REFLECTED, ClusterCaches, Work
from mcs.controllers.exporters import Exporting
from mcs.controllers.services import ServicesController
from mcs.model.multicluster import ServiceExport
from mcs.model.names import ClusterId, ServiceKey
from mcs.runtime.fleet import Fleet, Member
from mcs.testing.virtual_time import run_virtual
from tests.unit.controllers.two_clusters import WEB, metadata, never, slice_

CLUSTERS = [ClusterId(each) for each in ("a", "b", "c")]
KEYS = [ServiceKey("shop", "web"), ServiceKey("shop", "api"), ServiceKey("team", "web")]
PLURALS = ["serviceexports", "services", "endpointslices"]

CHANGES = st.one_of(
    st.tuples(st.sampled_from(["engage", "disengage", "leave", "see"]), st.sampled_from(CLUSTERS)),
    st.tuples(st.sampled_from(["export", "withdraw"]), st.sampled_from(CLUSTERS), st.sampled_from(KEYS)),
    st.tuples(
        st.sampled_from(["spoil", "mend", "relist"]),
        st.sampled_from(CLUSTERS),
        st.sampled_from(KEYS),
        st.sampled_from(PLURALS),
    ),
)


def member(cluster: ClusterId) -> Member[Work]:
    return Member(cluster, never, REFLECTED)


class Story:
    """A fleet that changes; members that were disengaged may go on bringing news."""

    def __init__(self) -> None:
        self.fleet: Fleet[Work] = Fleet([member(each) for each in CLUSTERS])
        self.exporting = Exporting(self.fleet)
        self._lately = dict(self.fleet.members)
        self._version = 0

    def change(self, what: str, cluster: ClusterId, key: ServiceKey = KEYS[0], plural: str = "") -> None:
        cache: Any = self._lately[cluster].caches[plural or "serviceexports"]
        self._version += 1
        match what:
            case "engage" if cluster not in self.fleet.members:
                self.fleet.engage(self._lately.setdefault(cluster, member(cluster)))
            case "disengage" | "leave":
                self.fleet.disengage(cluster, has_left=what == "leave")
            case "see":
                for each in self._lately[cluster].caches.values():
                    each.is_synced = True
                self._lately[cluster].demand.begin()
            case "export":
                cache.put(ServiceExport(metadata=metadata(key, self._version)))
            case "withdraw" | "mend":
                cache.discard(key, str(self._version))
            case "spoil":
                cache.mark_malformed(key, str(self._version))
            case "relist":
                cache.replace([], {key: str(self._version)})
                self._lately[cluster].demand.settle()

    def exporters(self, key: ServiceKey) -> list[ClusterId]:
        return sorted(
            each.cluster
            for each in self.fleet.members.values()
            if ClusterCaches.of(each.caches).exports.get(key) is not None
        )

    def seen(self, key: ServiceKey) -> frozenset[ClusterId]:
        members = self.fleet.members.values()
        clear = {
            each.cluster
            for each in members
            if each.is_seen and not ClusterCaches.of(each.caches).is_unknown(key)
        }
        return self.fleet.left | clear


@given(st.lists(CHANGES, max_size=30))
def test_what_is_kept_equals_what_the_caches_of_all_members_say(changes: list[Any]) -> None:
    async def play() -> None:
        story = Story()
        for change in changes:
            story.change(*change)
            for key in KEYS:
                assert story.exporting.exporters(key) == story.exporters(key)
                assert story.exporting.seen(key) == story.seen(key)

    run_virtual(play())


def calls_of_a_piece_of_work(members: int) -> int:
    """How many functions are called, those of the interpreter included, by what two of so many members export."""

    async def count() -> int:
        names = [ClusterId(f"member-{number:03}") for number in range(members)]
        fleet: Fleet[Work] = Fleet([member(each) for each in names])
        controller = ServicesController(fleet, lambda: datetime(2026, 1, 1, tzinfo=UTC))
        for number, each in enumerate(fleet.members.values()):
            for plural, cache in each.caches.items():
                cache.replace(contents.get(plural, []) if number < 2 else [])
        calls = 0

        def note(frame: FrameType, event: str, argument: object) -> None:
            nonlocal calls
            calls += event in ("call", "c_call")

        controller.observe_target(names[0], WEB)
        sys.setprofile(note)
        controller.observe_target(names[0], WEB)
        controller.observe_export(names[0], WEB)
        sys.setprofile(None)
        return calls

    contents: dict[str, list[Any]] = {
        "serviceexports": [ServiceExport(metadata=metadata(WEB))],
        "endpointslices": [slice_()],
    }
    return run_virtual(count())


def test_what_a_piece_of_work_looks_at_does_not_grow_with_members_that_take_no_part() -> None:
    assert calls_of_a_piece_of_work(100) == calls_of_a_piece_of_work(3)
