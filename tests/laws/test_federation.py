"""Laws of federated objects: overrides and placement are deterministic, and no write is ever forgotten."""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from mcs.federation.ledger import Entries, after_write, before_writes, recorded, without
from mcs.federation.overrides import NotMade, overridden
from mcs.federation.placement import Gate, Placed, exclusion, place
from mcs.federation.propagation import WRITES, Member, decide
from mcs.model.federated import (
    ClusterObjectVersion,
    ClusterOverrides,
    ClusterReference,
    LabelSelector,
    Override,
    Placement,
)
from mcs.model.names import ClusterId

CLUSTERS = tuple(ClusterId(f"c{number}") for number in range(4))
LABELS = st.dictionaries(st.sampled_from(["env", "zone"]), st.sampled_from(["a", "b"]), max_size=2)
PLACEMENTS = st.builds(
    Placement,
    clusters=st.none()
    | st.lists(st.sampled_from([*CLUSTERS, "c9"]), max_size=5).map(
        lambda names: tuple(ClusterReference(name=name) for name in names)
    ),
    cluster_selector=st.none() | st.builds(LabelSelector, match_labels=LABELS),
)
GATES = st.none() | st.builds(Gate, placement=st.none() | PLACEMENTS, is_required=st.booleans())
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.integers(-2, 2) | st.sampled_from(["x", "y"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b", "0"]), inner, max_size=3)
    ),
    max_leaves=8,
)
PATHS = st.lists(st.sampled_from(["a", "b", "0", "1", "-1", "-", "", "~1", "~2", "+1", "x"]), max_size=4).map(
    "/".join
)
OPERATIONS = st.lists(
    st.builds(
        Override,
        op=st.sampled_from(["", "add", "replace", "remove", "move"]),
        path=st.one_of(PATHS, PATHS.map(lambda path: f"/{path}")),
        value=VALUES,
    ),
    max_size=4,
    unique_by=lambda each: each.path,
).map(tuple)
DOCUMENTS = st.dictionaries(st.sampled_from(["a", "b", "0"]), VALUES, max_size=3)


@given(DOCUMENTS, OPERATIONS, OPERATIONS)
def test_overrides_give_an_object_or_a_reason_and_change_nothing_else(
    document: dict[str, Any], operations: tuple[Override, ...], others: tuple[Override, ...]
) -> None:
    own = ClusterOverrides(cluster_name="c1", cluster_overrides=operations)
    of_another = ClusterOverrides(cluster_name="c2", cluster_overrides=others)
    before = copy.deepcopy((document, own))
    first = overridden(document, [own, of_another], ClusterId("c1"))
    assert isinstance(first, dict | NotMade)
    assert overridden(document, [of_another, own], ClusterId("c1")) == first
    assert (document, own) == before
    if isinstance(first, dict):
        first["changed"] = True
        assert (document, own) == before


@given(PLACEMENTS, GATES, st.permutations(CLUSTERS), st.lists(LABELS, min_size=4, max_size=4))
def test_placement_depends_on_no_order_and_agrees_with_what_explains_it(
    placement: Placement, gate: Gate | None, order: list[ClusterId], labels: list[dict[str, str]]
) -> None:
    registered = dict(zip(CLUSTERS, labels, strict=True))
    found = place(placement, registered, gate)
    assert isinstance(found, Placed)
    turned = placement.clusters and tuple(reversed(placement.clusters))
    again = replace(placement, clusters=turned)
    assert place(again, {each: registered[each] for each in order}, gate) == found
    explained = [each for each in CLUSTERS if exclusion(placement, each, registered[each], gate) == ""]
    assert list(found.clusters) == explained


class World:
    """One object in some clusters: what they hold, who can be reached, and the ledger, as a shell would keep them."""

    def __init__(self) -> None:
        self.entries: Entries = ()
        self.held: dict[ClusterId, str] = {}
        self.down: set[ClusterId] = set()
        self.selected: set[ClusterId] = set()

    def seen(self, cluster: ClusterId, *, is_live: bool) -> Member:
        return Member(
            is_ready=cluster not in self.down,
            is_selected=cluster in self.selected,
            presence="present" if cluster in self.held and cluster not in self.down else "absent",
            managed="true" if cluster in self.held else None,
            is_live=is_live,
            is_recorded=cluster in recorded(self.entries),
        )

    def work(self, cluster: ClusterId, stops_after: int) -> None:
        """One reconcile of one cluster, which ends early when the process is killed after so many effects."""
        decision = decide(self.seen(cluster, is_live=False), may_adopt=True)
        if decision.step == "look":
            decision = decide(self.seen(cluster, is_live=True), may_adopt=True)
        effects: list[Any] = []
        if decision.step in WRITES:
            effects = [self._begin, self._write, self._record]
        elif decision.step == "delete":
            effects = [lambda cluster: self.held.pop(cluster)]
        elif decision.step == "forget":
            effects = [self._forget]
        for effect in effects[:stops_after]:
            effect(cluster)

    def _begin(self, cluster: ClusterId) -> None:
        self.entries = before_writes(self.entries, [cluster])

    def _write(self, cluster: ClusterId) -> None:
        self.held[cluster] = "ours"

    def _record(self, cluster: ClusterId) -> None:
        self.entries = after_write(self.entries, ClusterObjectVersion(cluster_name=cluster, version="gen:1"))

    def _forget(self, cluster: ClusterId) -> None:
        self.entries = without(self.entries, {cluster})


EVENTS = st.lists(
    st.tuples(
        st.sampled_from(["up", "down", "select", "unselect", "work", "work", "work"]),
        st.sampled_from(CLUSTERS),
        st.integers(0, 3),
    ),
    max_size=40,
)


@given(EVENTS)
def test_what_was_ever_written_is_in_the_ledger_until_it_is_gone(
    events: list[tuple[str, ClusterId, int]],
) -> None:
    world = World()
    for what, cluster, number in events:
        match what:
            case "up":
                world.down.discard(cluster)
            case "down":
                world.down.add(cluster)
            case "select":
                world.selected.add(cluster)
            case "unselect":
                world.selected.discard(cluster)
            case _:
                world.work(cluster, number)
        assert world.held.keys() <= recorded(world.entries)
    alive = [each for each in CLUSTERS if each not in world.down]
    for cluster in (*alive, *alive):
        world.work(cluster, 3)
    # Clusters that are down hold up nobody.
    assert {each for each in world.held if each in alive} == world.selected & set(alive)
    world.down.clear()
    for cluster in (*CLUSTERS, *CLUSTERS):
        world.work(cluster, 3)
    assert world.held.keys() == recorded(world.entries) == world.selected
