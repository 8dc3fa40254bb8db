"""Laws of outages: what a target holds and answers while clusters come, go and are drained, in any order."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace as replaced
from typing import Any, NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from mcs.model.multicluster import ServiceImport
from mcs.model.names import ClusterId
from mcs.model.slices import EndpointSlice
from mcs.services.observed import Exporter, ObservedTarget
from mcs.services.plan import plan_target
from mcs.testing.builders import WEB, at, endpoint, exporter, service, slice_
from mcs.testing.simulated_target import SimulatedTarget
from mcs.testing.worlds import CLUSTERS, exporters

Exporters = tuple[Exporter, ...]
PORTS = (("http 80",), ("http 80", "dns 53/UDP"), ("web 80",))


class Moment(NamedTuple):
    """What is decided of the clusters: withdrawn, left as they are (the others serve), and who has been seen."""

    withdrawn: frozenset[str]
    undecided: frozenset[str]
    seen: frozenset[str]


@st.composite
def exported_by_several(draw: st.DrawFn) -> Exporters:
    """Mostly two or three clusters of which each has some endpoints, ready or not, and a port or two; else anything."""
    if draw(st.sampled_from([False] * 5 + [True])):
        return draw(exporters())
    clusters = draw(st.sampled_from([("c1", "c2", "c3"), ("c1", "c2"), ("c2", "c3"), ("c2",)]))
    is_headless = draw(st.booleans())
    return tuple(
        exporter(
            cluster,
            service(WEB, *draw(st.sampled_from(PORTS)), is_headless=is_headless),
            *(
                slice_(
                    f"web-{number}",
                    *(
                        endpoint(f"10.{cluster[1:]}.{number}.{host}", ready=ready)
                        for host, ready in enumerate(
                            draw(
                                st.lists(st.sampled_from([True, True, None, False]), min_size=1, max_size=2)
                            ),
                            start=1,
                        )
                    ),
                )
                for number in range(draw(st.integers(1, 2)))
            ),
            created=int(cluster[1:]),
        )
        for cluster in clusters
    )


@st.composite
def moments(draw: st.DrawFn) -> Moment:
    """Any verdicts; the target, c1, is always seen. Who is kept may serve without having been seen."""
    verdicts = {each: draw(st.sampled_from(["serve", "withdraw", "leave"])) for each in CLUSTERS}
    unseen = draw(st.sets(st.sampled_from(["c2", "c3"])))
    return Moment(
        frozenset(each for each in CLUSTERS if verdicts[each] == "withdraw"),
        frozenset(each for each in CLUSTERS if verdicts[each] == "leave"),
        frozenset(CLUSTERS) - unseen,
    )


def observed(target: SimulatedTarget, exported: Exporters, moment: Moment, now: float) -> ObservedTarget:
    """What the target shows at that moment."""
    return replaced(
        target.observed([each for each in exported if each.cluster in moment.seen], moment.seen, at(now)),
        withdrawn={ClusterId(each): "is unreachable since then" for each in sorted(moment.withdrawn)},
        undecided=frozenset(ClusterId(each) for each in moment.undecided),
    )


def rests(target: SimulatedTarget, exported: Exporters, moment: Moment, now: float) -> int:
    """Plan and carry out until nothing is planned; in how many rounds."""
    for rounds in range(10):
        actions = plan_target(observed(target, exported, moment, now))
        if not actions:
            return rounds
        target.carry_out(actions)
    return 10


def ready(mirrors: Collection[EndpointSlice]) -> dict[str, set[str]]:
    """The ready addresses by source cluster, of clusters that have any."""
    found: dict[str, set[str]] = {}
    for each in mirrors:
        addresses = {a for one in each.endpoints or () if one.is_ready for a in one.addresses}
        if addresses:
            found.setdefault(each.source_cluster, set()).update(addresses)
    return found


def held(exported: Exporters) -> SimulatedTarget:
    """c1 while all is well."""
    target = SimulatedTarget("c1", WEB)
    target.rounds_to_rest(exported, CLUSTERS, at(100))
    return target


def uids(target: SimulatedTarget) -> dict[Any, str]:
    return {kept: obj.metadata.uid for kept, obj in target.objects.items()}


def said(target: SimulatedTarget) -> dict[Any, Any]:
    """All that is held, without versions and the times of conditions."""
    found: dict[Any, Any] = {}
    for kept, obj in target.objects.items():
        said = obj.metadata.labels, obj.metadata.annotations
        if isinstance(obj, ServiceImport):
            conditions = [(each.type, each.status, each.message) for each in obj.status.conditions]
            found[kept] = (*said, obj.spec, obj.status.clusters, conditions)
        else:
            found[kept] = (*said, getattr(obj, "endpoints", None), obj.metadata.uid)
    return found


@given(exported_by_several(), st.lists(moments(), min_size=1, max_size=5))
def test_whatever_is_decided_comes_to_rest_and_nothing_is_created_or_deleted_for_it(
    exported: Exporters, story: Sequence[Moment]
) -> None:
    target = held(exported)
    before = uids(target)

    for number, moment in enumerate(story):
        assert rests(target, exported, moment, 200 + number) <= 2
        assert uids(target) == before


@given(exported_by_several(), st.lists(moments(), min_size=1, max_size=5))
def test_a_service_that_had_ready_endpoints_keeps_some(exported: Exporters, story: Sequence[Moment]) -> None:
    target = held(exported)
    whole = ready(target.mirrors)

    for number, moment in enumerate(story):
        for action in plan_target(observed(target, exported, moment, 200 + number)):
            target.carry_out([action])
            assert bool(ready(target.mirrors)) is bool(whole)
        rests(target, exported, moment, 200 + number)
        assert bool(ready(target.mirrors)) is bool(whole)


@given(exported_by_several(), st.lists(moments(), max_size=4), moments())
def test_where_another_cluster_serves_the_endpoints_of_withdrawn_ones_are_not_ready(
    exported: Exporters, story: Sequence[Moment], last: Moment
) -> None:
    target = held(exported)
    whole = ready(target.mirrors)
    for number, moment in enumerate((*story, last)):
        rests(target, exported, moment, 200 + number)

    now = ready(target.mirrors)
    serving = whole.keys() - last.withdrawn - last.undecided
    assert serving <= now.keys()
    if serving:
        assert not now.keys() & last.withdrawn
    for cluster, addresses in now.items():
        assert addresses == whole[cluster]


ALL = frozenset(CLUSTERS)
NONE = frozenset[str]()


@given(
    exported_by_several(),
    st.lists(moments(), max_size=3),
    st.sampled_from([frozenset({"c2"}), frozenset({"c3"}), frozenset({"c2", "c3"})]),
    st.sampled_from([ALL, frozenset({"c1"})]),
)
def test_what_was_withdrawn_stays_so_while_nothing_is_decided(
    exported: Exporters, story: Sequence[Moment], away: frozenset[str], seen: frozenset[str]
) -> None:
    """As when more than half are away, or a controller has just started, who may have seen nobody else."""
    target = held(exported)
    for number, moment in enumerate((*story, Moment(away, NONE, ALL))):
        rests(target, exported, moment, 200 + number)
    before = ready(target.mirrors)

    rests(target, exported, Moment(NONE, away, seen), 300)

    assert ready(target.mirrors) == before


@given(exported_by_several(), st.lists(moments(), min_size=1, max_size=5))
def test_when_all_are_back_all_is_as_if_nothing_had_been(
    exported: Exporters, story: Sequence[Moment]
) -> None:
    target = held(exported)
    before = said(target)
    for number, moment in enumerate(story):
        rests(target, exported, moment, 200 + number)

    target.rounds_to_rest(exported, CLUSTERS, at(400))

    assert said(target) == before


@given(exported_by_several(), moments())
def test_an_outage_changes_nothing_of_what_the_service_is(exported: Exporters, moment: Moment) -> None:
    """Ports, type and addresses stay, so that nothing flips to and fro with a member."""
    target = held(exported)
    before = target.service_import
    rests(target, exported, moment, 200)

    after = target.service_import
    assert (before is None) is (after is None)
    if before is not None and after is not None:
        assert (after.spec, after.metadata.uid) == (before.spec, before.metadata.uid)
        named = {each.cluster for each in after.status.clusters}
        assert {each.cluster for each in before.status.clusters} - named <= moment.withdrawn
