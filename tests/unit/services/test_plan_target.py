"""The order of a plan, the import and its status; what is kept and what goes."""

import dataclasses
import re
from typing import Any

import pytest
from msgspec.structs import replace

from mcs.model.meta import Condition, ObjectMeta
from mcs.model.names import (
    DERIVED_SERVICE_ANNOTATION,
    MANAGED_BY_LABEL,
    ServiceKey,
)
from mcs.model.services import ServiceSpec
from mcs.services.plan import plan_target
from mcs.testing.builders import (
    WEB,
    at,
    export,
    exporter,
    headless,
    observed_target,
    service,
    slice_,
)
from mcs.testing.simulated_target import (
    SimulatedTarget,
    import_of,
    in_words,
    ready_of,
    settled_target,
    strip_labels,
)

CLUSTERS = ("c1", "c2", "c3")
C2 = exporter("c2", service(), slice_("web-1", "10.2.0.5"))


def test_endpoints_come_before_ports_and_the_import_once_there_are_addresses() -> None:
    target = SimulatedTarget("c1", WEB)
    first = target.plan(C2)
    assert in_words(first) == ["apply endpointslices", "apply services"]
    target.carry_out(first)
    assert in_words(target.plan(C2)) == ["apply serviceimports", "apply serviceimports/status"]


def test_the_write_budget_of_an_export_is_four_and_that_of_a_changed_endpoint_one() -> None:
    target = settled_target(C2)
    assert target.writes == 4
    target.rounds_to_rest((exporter("c2", service(), slice_("web-1", "10.2.0.6")),), CLUSTERS, at(200))
    assert target.writes == 5


def test_the_import_goes_last() -> None:
    assert in_words(settled_target(C2).plan()) == [
        "delete endpointslices",
        "delete services",
        "delete serviceimports",
    ]


def test_a_headless_service_has_neither_derived_service_nor_addresses_but_families() -> None:
    target = settled_target(exporter("c2", headless(), slice_("web-1", "10.2.0.5")))
    assert target.derived is None
    found = import_of(target)
    assert (found.spec.type, found.spec.ips, found.spec.ip_families) == ("Headless", (), ("IPv4",))
    assert found.metadata.annotations == {}
    assert target.writes == 3


def test_an_import_of_somebody_else_is_left_alone() -> None:
    target = settled_target(C2)
    strip_labels(target, "serviceimports")
    assert target.plan(exporter("c2", service(internal="Local"), slice_("web-1", "10.2.0.5"))) != ()
    for exporters in ([exporter("c2", service(internal="Local"))], []):
        assert not [word for word in in_words(target.plan(*exporters)) if "serviceimports" in word]


def test_an_import_that_is_going_is_waited_for() -> None:
    target = settled_target(C2)
    going = replace(import_of(target).metadata, deletion_timestamp=at(150))
    target.put("serviceimports", replace(import_of(target), metadata=going))
    assert target.plan(C2) == ()
    assert "delete serviceimports" not in in_words(target.plan())


def test_a_status_is_written_for_a_new_exporter_and_keeps_its_transition_time() -> None:
    target = settled_target(C2)
    other = exporter("c3", service(), created=1)
    assert in_words(target.plan(C2, other)) == ["apply serviceimports/status"]
    target.rounds_to_rest([C2, other], CLUSTERS, at(200))
    assert [each.cluster for each in import_of(target).status.clusters] == ["c2", "c3"]
    assert ready_of(target).last_transition_time == at(100)


def test_slices_are_told_present_when_there_are_some() -> None:
    assert import_of(settled_target(C2)).status.endpoint_slice_objects == "Present"
    assert import_of(settled_target(exporter("c2", service()))).status.endpoint_slice_objects == "Absent"


def test_an_older_crd_is_told_nothing_of_slices_and_is_not_written_to_again_and_again() -> None:
    target = settled_target(C2)
    status = replace(import_of(target).status, endpoint_slice_objects=None, clusters=())
    target.put("serviceimports", replace(import_of(target), status=status))
    older = dataclasses.replace(target.observed((C2,), ("c1", "c2", "c3"), at(200)), has_older_crd=True)
    actions = plan_target(older)
    assert in_words(actions) == ["apply serviceimports/status"]
    target.carry_out(actions)
    assert import_of(target).status.endpoint_slice_objects is None
    present = dataclasses.replace(older, service_import=import_of(target))
    assert plan_target(present) == ()


def test_a_crd_that_drops_the_newest_field_is_not_written_to_again_and_again() -> None:
    target = settled_target(C2)
    status = replace(import_of(target).status, endpoint_slice_objects=None)
    target.put("serviceimports", replace(import_of(target), status=status))
    assert target.plan(C2) == ()


def test_conditions_of_others_on_an_import_are_no_difference() -> None:
    target = settled_target(C2)
    theirs = Condition(type="Theirs", status="True", reason="Why", message="", last_transition_time=at(0))
    status = import_of(target).status
    target.put(
        "serviceimports",
        replace(import_of(target), status=replace(status, conditions=(theirs, *status.conditions))),
    )
    assert target.plan(C2) == ()


def test_exported_labels_come_and_go_and_those_of_others_stay() -> None:
    target = settled_target(
        exporter("c2", service(), export_=export(labels={"a": "1"}, annotations={"b": "2"}))
    )
    found = import_of(target)
    assert found.metadata.labels["a"] == "1"
    labels = {**found.metadata.labels, "theirs": "1"}
    target.put("serviceimports", replace(found, metadata=replace(found.metadata, labels=labels)))

    target.rounds_to_rest([exporter("c2", service())], CLUSTERS, at(200))

    assert set(import_of(target).metadata.labels) == {"theirs", MANAGED_BY_LABEL}
    assert set(import_of(target).metadata.annotations) == {DERIVED_SERVICE_ANNOTATION}


@pytest.mark.parametrize(
    ("case", "observed"),
    [
        ("E1: the namespace is absent", observed_target(C2, namespace="absent")),
        ("the namespace is going", observed_target(C2, namespace="terminating")),
        ("the target itself is not seen", observed_target(C2, seen="c2")),
        ("no cluster is seen", observed_target(C2, seen="")),
        (
            "F1: the namespace belongs to each cluster alone",
            observed_target(
                exporter("c2", service(ServiceKey("kube-system", "web"))),
                key=ServiceKey("kube-system", "web"),
            ),
        ),
    ],
)
def test_nothing_is_planned_when(case: str, observed: Any) -> None:
    assert plan_target(observed) == (), case


def test_f1_nothing_is_deleted_in_a_system_namespace() -> None:
    key = ServiceKey("kube-system", "web")
    metadata = ObjectMeta(
        name="web", namespace="kube-system", labels=import_of(settled_target(C2)).metadata.labels
    )
    observed = observed_target(
        key=key, service_import=replace(import_of(settled_target(C2)), metadata=metadata)
    )
    assert plan_target(observed) == ()


def test_an_import_goes_only_when_every_cluster_that_it_lists_is_seen() -> None:
    target = settled_target(C2)
    assert target.plan(seen=("c1",)) == ()
    assert target.plan(seen=("c1", "c3")) == ()


def test_an_import_stays_while_a_mirror_tells_of_a_cluster_that_is_not_seen() -> None:
    target = settled_target(C2)
    status = replace(import_of(target).status, clusters=())
    target.put("serviceimports", replace(import_of(target), status=status))
    assert in_words(target.plan(seen=("c1",))) == ["apply serviceimports/status"]


def test_while_an_exporter_is_not_seen_the_seen_ones_only_add() -> None:
    first = exporter("c2", service(affinity_seconds=10), slice_("web-1", "10.2.0.5"), created=1)
    second = exporter("c3", service(WEB, "http 80", "web 81"), slice_("web-1", "10.3.0.5"), created=2)
    target = settled_target(first, second)
    changed = exporter("c3", service(WEB, "new 82"), slice_("web-1", "10.3.0.6"), created=2)

    target.rounds_to_rest([changed], ("c1", "c3"), at(200))

    found = import_of(target)
    assert [(each.name, each.port) for each in found.spec.ports] == [("http", 80), ("web", 81), ("new", 82)]
    assert found.spec.session_affinity == "ClientIP"
    assert [each.cluster for each in found.status.clusters] == ["c2", "c3"]
    assert sorted(each.source_cluster for each in target.mirrors) == ["c2", "c3"]

    target.rounds_to_rest([changed], CLUSTERS, at(300))

    assert [each.name for each in import_of(target).spec.ports] == ["new"]
    assert [each.cluster for each in import_of(target).status.clusters] == ["c3"]


def test_the_longest_names_fit_wherever_they_are_written() -> None:
    key, cluster = ServiceKey("n" * 63, "s" * 63), f"{'c' * 31}.{'d' * 31}"
    target = SimulatedTarget(cluster, key)
    exported = exporter(cluster, service(key), slice_(f"{'s' * 63}-abcde", "10.1.0.5", key=key))
    assert target.rounds_to_rest([exported], [cluster], at(100)) == 2
    assert {len(name) > 63 for plural, name in target.objects if plural != "endpointslices"} == {False}
    assert [
        name for _, name in target.objects if not re.fullmatch("[a-z0-9][-a-z0-9]{0,251}[a-z0-9]", name)
    ] == []
    values = [value for obj in target.objects.values() for value in obj.metadata.labels.values()]
    assert max(map(len, values)) == 63


@pytest.mark.parametrize(
    ("case", "exported", "ready"),
    [
        (
            "a headless one has addresses of endpoints without ports",
            replace(headless().spec, ports=()),
            "Ready",
        ),
        ("another has nothing to connect to", replace(service().spec, ports=()), "Pending"),
    ],
)
def test_a_service_without_ports_is_imported_without_any(
    case: str, exported: ServiceSpec, ready: str
) -> None:
    portless = replace(service(), spec=exported)
    target = settled_target(exporter("c2", portless, slice_("web-1", "10.2.0.5", ports=())))
    assert (target.derived, import_of(target).spec.ports, ready_of(target).reason) == (None, (), ready), case
    assert [each.ports for each in target.mirrors] == [()]
