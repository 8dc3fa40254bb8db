"""What a withdrawn mirror says, and what the import and the exports tell of it."""

from __future__ import annotations

from dataclasses import replace as replaced

import pytest

from mcs.model.names import WITHDRAWN_ANNOTATION, ClusterId
from mcs.model.slices import EndpointConditions
from mcs.services.exports import desired_conditions, is_imported
from mcs.services.observed import Exporter, ObservedTarget
from mcs.services.plan import plan_target
from mcs.testing.builders import at, endpoint, exporter, observed_export, service, slice_
from mcs.testing.simulated_target import SimulatedTarget, import_of, in_words, settled_target

AWAY = "is unreachable since 2026-01-01T00:00:00Z (Timeout)"
EAST = exporter(
    "c2",
    service(),
    slice_(
        "web-1", endpoint("10.2.0.1"), endpoint("10.2.0.2", ready=False), endpoint("10.2.0.3", ready=None)
    ),
)
WEST = exporter("c3", service(), slice_("web-1", "10.3.0.1"), created=1)
SEEN = frozenset({"c1", "c2", "c3"})


def observed(
    target: SimulatedTarget, *exported: Exporter, seen: frozenset[str] = SEEN, withdrawn: str = "c2"
) -> ObservedTarget:
    return replaced(
        target.observed([each for each in exported if each.cluster in seen], seen, at(200)),
        withdrawn={ClusterId(each): AWAY for each in withdrawn.split()},
    )


def conditions_of(target: SimulatedTarget, cluster: str) -> list[EndpointConditions]:
    return [
        one.conditions
        for each in target.mirrors
        if each.source_cluster == cluster
        for one in each.endpoints or ()
    ]


def test_withdrawn_endpoints_are_not_ready_and_remember_in_serving_whether_they_were() -> None:
    target = settled_target(EAST, WEST)
    target.carry_out(plan_target(observed(target, EAST, WEST)))

    assert conditions_of(target, "c2") == [
        EndpointConditions(ready=False, serving=True, terminating=False),
        EndpointConditions(ready=False, serving=False, terminating=False),
        EndpointConditions(ready=False, serving=None, terminating=False),
    ]
    assert [each.ready for each in conditions_of(target, "c3")] == [True]


def test_an_endpoint_that_is_on_its_way_out_is_no_last_resort_of_kube_proxy() -> None:
    """Where nothing is ready, kube-proxy falls back to what serves and terminates."""
    leaving = exporter(
        "c2", service(), slice_("web-1", endpoint("10.2.0.1", ready=True, serving=True, terminating=True))
    )
    target = settled_target(leaving, WEST)
    target.carry_out(plan_target(observed(target, leaving, WEST)))

    assert [each.terminating for each in conditions_of(target, "c2")] == [False]


def test_the_import_drops_the_cluster_and_says_since_when_and_why() -> None:
    target = settled_target(EAST, WEST)
    actions = plan_target(observed(target, EAST, WEST))
    target.carry_out(actions)

    assert in_words(actions) == [
        "apply endpointslices",
        "apply serviceimports/status",
        "event EndpointsWithdrawn",
    ]
    status = import_of(target).status
    assert [each.cluster for each in status.clusters] == ["c3"]
    told = status.conditions[-1]
    assert (told.type, told.status, told.reason) == ("EndpointsWithdrawn", "True", "Withdrawn")
    assert told.message == f'Cluster "c2" {AWAY}; its endpoints are withdrawn.'


def test_the_last_ready_endpoints_stay_and_the_import_says_so() -> None:
    west = exporter("c3", service(), slice_("web-1", endpoint("10.3.0.1", ready=False)), created=1)
    target = settled_target(EAST, west)
    actions = plan_target(observed(target, EAST, west))
    target.carry_out(actions)

    assert in_words(actions) == ["apply serviceimports/status", "event LastReadyEndpoints"]
    told = import_of(target).status.conditions[-1]
    assert (told.type, told.status, told.reason) == ("EndpointsWithdrawn", "False", "LastReadyEndpoints")
    assert told.message == f'Cluster "c2" {AWAY}; its endpoints stay, for no other cluster has ready ones.'


def test_when_all_that_could_serve_are_withdrawn_all_stay() -> None:
    target = settled_target(EAST, WEST)
    plan = plan_target(observed(target, EAST, WEST, withdrawn="c2 c3"))

    assert "apply endpointslices" not in in_words(plan)


def spent(each: Exporter) -> Exporter:
    """The same, with no endpoint that is ready."""
    return replaced(each, slices=(slice_("web-1", endpoint("10.9.0.1", ready=False)),))


def written(target: SimulatedTarget, *exported: Exporter, withdrawn: str) -> list[str]:
    """Whose mirrors are written, in that order."""
    return [
        action.object.source_cluster  # type: ignore[union-attr]
        for action in plan_target(observed(target, *exported, withdrawn=withdrawn))
        if action.resource.plural == "endpointslices"
    ]


# In the order of names, and against it.
@pytest.mark.parametrize(("away", "other"), [(EAST, WEST), (WEST, EAST)])
def test_no_write_comes_between_the_last_ready_endpoint_and_the_next(away: Exporter, other: Exporter) -> None:
    target = settled_target(away, spent(other))
    assert written(target, away, other, withdrawn=away.cluster) == [other.cluster, away.cluster]

    target = settled_target(away, other)
    target.carry_out(plan_target(observed(target, away, other, withdrawn=away.cluster)))
    assert written(target, away, spent(other), withdrawn=away.cluster) == [away.cluster, other.cluster]


def test_a_controller_that_has_not_seen_a_cluster_withdraws_it_and_gives_it_back() -> None:
    target = settled_target(EAST, WEST)
    before = {each.metadata.name: each.endpoints for each in target.mirrors}
    unseen = SEEN - {"c2"}

    target.carry_out(plan_target(observed(target, EAST, WEST, seen=unseen)))
    assert [each.ready for each in conditions_of(target, "c2")] == [False, False, False]
    assert plan_target(observed(target, EAST, WEST, seen=unseen)) == ()
    assert all(
        (WITHDRAWN_ANNOTATION in each.metadata.annotations) is (each.source_cluster == "c2")
        for each in target.mirrors
    )

    target.carry_out(plan_target(observed(target, EAST, WEST, seen=unseen, withdrawn="")))
    ready = [[one.is_ready for one in each or ()] for each in before.values()]
    assert [[one.is_ready for one in each.endpoints or ()] for each in target.mirrors] == ready
    assert not any(WITHDRAWN_ANNOTATION in each.metadata.annotations for each in target.mirrors)


def test_while_nothing_is_decided_what_was_withdrawn_stays_so_and_so_does_what_is_told_of_it() -> None:
    target = settled_target(EAST, WEST)
    target.carry_out(plan_target(observed(target, EAST, WEST)))

    undecided = replaced(observed(target, EAST, WEST, withdrawn=""), undecided=frozenset({ClusterId("c2")}))
    assert plan_target(undecided) == ()


def test_the_mark_comes_and_goes_also_where_the_endpoints_say_the_same() -> None:
    """Left behind, it would withdraw a cluster of which nothing is decided."""
    idle = slice_("web-2", endpoint("10.2.1.1", ready=False, serving=False, terminating=False))
    east = exporter("c2", service(), *EAST.slices, idle)
    target = settled_target(east, WEST)
    for withdrawn, marked in (("c2", 2), ("", 0)):
        target.carry_out(plan_target(observed(target, east, WEST, withdrawn=withdrawn)))
        assert sum(WITHDRAWN_ANNOTATION in each.metadata.annotations for each in target.mirrors) == marked


def test_a_cluster_that_has_no_mirror_here_has_nothing_to_withdraw() -> None:
    bare = exporter("c2", service())
    target = settled_target(bare, WEST)

    assert plan_target(observed(target, bare, WEST)) == ()


def test_an_export_says_what_the_import_beside_it_tells() -> None:
    target = settled_target(EAST, WEST)
    target.carry_out(plan_target(observed(target, EAST, WEST)))
    west = replaced(observed_export(EAST, WEST, cluster="c3"), own_import=import_of(target))

    ready = next(each for each in desired_conditions(west, WEST) if each.type == "Ready")
    assert (ready.status, ready.reason) == ("True", "Exported")
    assert ready.message == (
        f'The service is exported to the clusterset. Cluster "c2" {AWAY}; its endpoints are withdrawn.'
    )


def test_an_export_of_a_drained_cluster_is_exported_all_the_same() -> None:
    target = settled_target(EAST, WEST)
    target.carry_out(plan_target(observed(target, EAST, WEST)))
    east = replaced(observed_export(EAST, WEST, cluster="c2"), own_import=import_of(target))

    assert not is_imported(east)
    assert is_imported(replaced(east, withdrawn={ClusterId("c2"): "is drained since Friday"}))
