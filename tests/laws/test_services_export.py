"""Laws of `plan_export`, over whatever a clusterset may export."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from mcs.model.actions import Apply, RecordEvent
from mcs.model.meta import Condition
from mcs.model.multicluster import ServiceExport, ServiceExportStatus
from mcs.services.observed import Exporter, ObservedExport
from mcs.services.plan import plan_export
from mcs.testing.builders import observed_export
from mcs.testing.worlds import CLUSTERS, exporters

Exporters = tuple[Exporter, ...]
LISTED = st.none() | st.sets(st.sampled_from(CLUSTERS)).map(" ".join)
CLUSTER = st.sampled_from(CLUSTERS)
AGE = st.sampled_from([0.0, 4.0, 100.0])


def conditions_after(observed: ObservedExport, own: Exporter) -> tuple[Condition, ...]:
    for action in plan_export(observed):
        assert isinstance(action, Apply)
        assert isinstance(action.object, ServiceExport)
        return action.object.status.conditions
    return own.export.status.conditions


def told(exported: Exporters, cluster: str, conditions: tuple[Condition, ...]) -> Exporters:
    """`exported` once the export in `cluster` carries the conditions."""
    status = ServiceExportStatus(conditions=conditions)
    return tuple(
        Exporter(each.cluster, replace(each.export, status=status), each.service, each.slices)
        if each.cluster == cluster
        else each
        for each in exported
    )


def own_of(exported: Exporters, cluster: str) -> Exporter | None:
    return next((each for each in exported if each.cluster == cluster), None)


@given(exporters(), exporters(), LISTED, LISTED, CLUSTER)
def test_a_plan_carried_out_leaves_nothing_to_plan(
    before: Exporters, after: Exporters, listed: str | None, now_listed: str | None, cluster: str
) -> None:
    conditions: tuple[Condition, ...] = ()
    if own := own_of(before, cluster):
        conditions = conditions_after(observed_export(*before, cluster=cluster, listed=listed), own)
    after = told(after, cluster, conditions)
    if own := own_of(after, cluster):
        then = conditions_after(observed_export(*after, cluster=cluster, listed=now_listed, now=200), own)
        again = told(after, cluster, then)
        assert plan_export(observed_export(*again, cluster=cluster, listed=now_listed, now=300)) == ()


@given(exporters(), LISTED, CLUSTER, AGE, st.randoms(use_true_random=False))
def test_the_order_of_arrival_does_not_matter(
    exported: Exporters, listed: str | None, cluster: str, age: float, random: Any
) -> None:
    shuffled = list(exported)
    random.shuffle(shuffled)
    assert plan_export(observed_export(*exported, cluster=cluster, listed=listed, now=age)) == plan_export(
        observed_export(*shuffled, cluster=cluster, listed=listed, now=age)
    )


@given(exporters(), LISTED, AGE)
def test_all_valid_exporters_hear_of_the_same_conflicts(
    exported: Exporters, listed: str | None, age: float
) -> None:
    heard = set()
    for each in exported:
        observed = observed_export(*exported, cluster=each.cluster, listed=listed, now=age + 5)
        heard |= {
            (found.reason, found.message)
            for found in conditions_after(observed, each)
            if found.type == "Conflict"
        }
    assert len(heard) <= 1


@given(exporters(), LISTED, CLUSTER, AGE)
def test_only_the_status_of_the_own_export_is_written_and_each_type_once(
    exported: Exporters, listed: str | None, cluster: str, age: float
) -> None:
    for action in plan_export(observed_export(*exported, cluster=cluster, listed=listed, now=age)):
        if isinstance(action, RecordEvent):
            assert (action.cluster, action.object.involved_object.kind) == (cluster, "ServiceExport")
            continue
        assert isinstance(action, Apply)
        assert (action.cluster, action.resource.plural, action.subresource) == (
            cluster,
            "serviceexports",
            "status",
        )
        assert isinstance(action.object, ServiceExport)
        types = [each.type for each in action.object.status.conditions]
        assert len(types) == len(set(types))


@given(exporters(), LISTED, CLUSTER, AGE)
def test_an_export_that_nothing_was_said_of_is_told_at_once(
    exported: Exporters, listed: str | None, cluster: str, age: float
) -> None:
    own = own_of(exported, cluster)
    is_there = own is not None and not own.export.is_terminating
    assert bool(plan_export(observed_export(*exported, cluster=cluster, listed=listed, now=age))) is is_there


@given(exporters(), exporters(), st.sets(CLUSTER), CLUSTER)
def test_a_cluster_that_cannot_be_seen_ends_no_conflict(
    before: Exporters, after: Exporters, seen: set[str], cluster: str
) -> None:
    listed = " ".join(CLUSTERS)
    own, now_own = own_of(before, cluster), own_of(after, cluster)
    if own is None or now_own is None or seen | {cluster} == set(CLUSTERS):
        return
    conditions = conditions_after(observed_export(*before, cluster=cluster, listed=listed), own)
    after = told(after, cluster, conditions)
    observed = observed_export(
        *after, cluster=cluster, listed=listed, now=200, seen=" ".join(sorted(seen | {cluster}))
    )
    then = conditions_after(observed, own_of(after, cluster) or own)
    is_valid = any(each.type == "Valid" and each.status == "True" for each in then)
    if is_valid and any(each.type == "Conflict" and each.status == "True" for each in conditions):
        assert any(each.type == "Conflict" and each.status == "True" for each in then)
