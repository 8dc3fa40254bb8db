"""KEP-1645, exporting: what is exported, when it ends, and what becomes of it in other clusters."""

from typing import Any

import pytest
from msgspec.structs import replace

from mcs.model.actions import Apply, Delete
from mcs.model.multicluster import ServiceImportSpec
from mcs.model.names import ClusterId, ServiceKey, derived_service_name
from mcs.model.selectors import parse_selector
from mcs.model.services import Service
from mcs.services.auto_export import ObservedService, plan_auto_export
from mcs.services.plan import plan_target
from mcs.testing.builders import WEB, export, exporter, headless, observed_target, service, slice_
from mcs.testing.simulated_clusterset import CLUSTERS, exports
from tests.conformance.small_clusterset import DUAL, exporting, settled

SYSTEM = ServiceKey("kube-system", "web")


@pytest.mark.spec("KEP-1645#exporting-services: nothing by default", "MUST")
def test_nothing_is_exported_by_default() -> None:
    world = settled()
    assert [target.objects for target in world.targets.values()] == [{}] * 3


@pytest.mark.spec("KEP-1645#exporting-services: by namespace and name", "MUST")
def test_an_export_means_the_service_of_its_namespace_and_name_in_its_own_cluster() -> None:
    world = settled(exporter("c1", None, export_=export()))
    assert (world.imports, world.reasons("Valid")) == ([], {"c1": "NoService"})
    other = exporter("c1", service(ServiceKey("demo", "other")), export_=export())
    assert settled(other).reasons("Valid") == {"c1": "NoService"}


@pytest.mark.spec("KEP-1645#exporting-services: only with an export", "MUST")
def test_a_service_without_export_takes_no_part_when_another_cluster_exports_its_like() -> None:
    world = settled(exports("c2", service()))
    assert [{each.source_cluster for each in world.targets[c].mirrors} for c in CLUSTERS] == [{"c2"}] * 3
    assert exporting(world) == [["c2"]] * 3


@pytest.mark.spec("KEP-1645#exporting-services: one combined service", "MUST")
def test_exports_of_one_name_from_several_clusters_are_one_service() -> None:
    world = settled(exports("c1", service()), exports("c2", service()))
    assert exporting(world) == [["c1", "c2"]] * 3
    assert [world.served("http", cluster) for cluster in CLUSTERS] == [["c1", "c2"]] * 3


@pytest.mark.spec("KEP-1645#exporting-services: ends with the export", "MUST")
@pytest.mark.parametrize("kind", [service(), headless(), service(families=DUAL)])
def test_deleting_the_export_ends_exporting(kind: Service) -> None:
    world = settled(exports("c1", kind)).settle()
    assert [target.objects for target in world.targets.values()] == [{}] * 3


@pytest.mark.spec("KEP-1645#exporting-services: ends with the export", "MUST")
def test_an_export_that_is_being_deleted_ends_already() -> None:
    going = exporter("c1", service(), slice_("web-1", "10.1.0.5"), export_=export(terminating=True))
    world = settled(exports("c1", service())).settle(going)
    assert [target.objects for target in world.targets.values()] == [{}] * 3


@pytest.mark.spec("KEP-1645#exporting-services: a Service that goes", "MUST")
@pytest.mark.parametrize("gone", [None, service(terminating=True)])
def test_an_export_whose_service_goes_exports_nothing_and_says_why(gone: Service | None) -> None:
    world = settled(exports("c1", service())).settle(exports("c1", gone))
    assert [target.objects for target in world.targets.values()] == [{}] * 3
    assert world.reasons("Valid") == {"c1": "NoService"}


@pytest.mark.spec("KEP-1645#exporting-services: a Service that returns", "MUST")
def test_an_export_is_valid_again_when_its_service_is_back() -> None:
    world = settled(exports("c1", service())).settle(exports("c1", None)).settle(exports("c1", service()))
    assert exporting(world) == [["c1"]] * 3
    assert (world.reasons("Valid"), world.reasons("Ready")) == ({"c1": "Valid"}, {"c1": "Exported"})


@pytest.mark.spec("KEP-1645#exporting-services: properties of the Service", "MUST")
@pytest.mark.parametrize(
    ("changed", "field", "value"),
    [
        ({"affinity_seconds": 10}, "session_affinity", "ClientIP"),
        ({"internal": "Local"}, "internal_traffic_policy", "Local"),
        ({"distribution": "PreferClose"}, "traffic_distribution", "PreferClose"),
        ({"families": DUAL}, "ip_families", DUAL),
        ({"is_headless": True}, "type", "Headless"),
    ],
)
def test_properties_are_those_of_the_service_and_follow_it(
    changed: dict[str, Any], field: str, value: object
) -> None:
    world = settled(exports("c1", service()))
    before = _specs(world.imports)
    world.settle(exports("c1", service(**changed)))
    assert [getattr(spec, field) for spec in _specs(world.imports)] == [value] * 3
    assert _specs(world.settle(exports("c1", service())).imports) == before


def _specs(imports: Any) -> list[ServiceImportSpec]:
    """What imports say; the addresses of a service that was headless meanwhile are new ones."""
    return [replace(found.spec, ips=()) for found in imports]


@pytest.mark.spec("KEP-1645#exporting-services: properties of the Service", "MUST")
def test_ports_are_those_of_the_service_and_not_of_its_endpoints() -> None:
    world = settled(exports("c1", service(WEB, "http 80", "dns 53/UDP"), "http 8080", "other 9"))
    assert world.ports() == ["http 80/TCP", "dns 53/UDP"]


@pytest.mark.spec("KEP-1645#exporting-services: by hand or by tools", "MAY")
def test_an_export_is_made_for_a_service_that_a_selector_selects_and_taken_back_afterwards() -> None:
    selector = parse_selector("team=a")
    picked = ObservedService(ClusterId("c1"), WEB, service(labels={"team": "a"}), None)
    (made,) = plan_auto_export(picked, selector)
    assert isinstance(made, Apply)
    assert made.object.key == WEB
    other = ObservedService(ClusterId("c1"), WEB, service(), made.object)  # type: ignore[arg-type]
    assert [type(action) for action in plan_auto_export(other, selector)] == [Delete]
    by_hand = ObservedService(ClusterId("c1"), WEB, service(), export())
    assert plan_auto_export(by_hand, selector) == ()


@pytest.mark.spec("KEP-1645#labels-and-annotations: metadata stays", "MUST NOT")
def test_labels_and_annotations_of_service_and_export_are_not_exported() -> None:
    labelled = service(labels={"team": "a"})
    labelled = replace(labelled, metadata=replace(labelled.metadata, annotations={"note": "a"}))
    own = export()
    own = replace(own, metadata=replace(own.metadata, labels={"team": "b"}, annotations={"note": "b"}))
    world = settled(exporter("c1", labelled, slice_("web-1", "10.1.0.5"), export_=own))
    objects = [obj for cluster in CLUSTERS for obj in world.targets[cluster].objects.values()]
    assert len(objects) == 9
    assert [
        obj for obj in objects if {"team", "note"} & {*obj.metadata.labels, *obj.metadata.annotations}
    ] == []


@pytest.mark.spec("KEP-1645#labels-and-annotations: exported metadata", "MAY")
def test_exported_labels_and_annotations_are_those_that_the_export_says_at_the_moment() -> None:
    told = export(labels={"tier": "web"}, annotations={"note": "text"})
    world = settled(exporter("c1", service(), export_=told))
    assert [found.metadata.labels["tier"] for found in world.imports] == ["web"] * 3
    assert [found.metadata.annotations["note"] for found in world.imports] == ["text"] * 3
    world.settle(exporter("c1", service(), export_=export()))
    assert [found for found in world.imports if "tier" in found.metadata.labels] == []
    assert [found for found in world.imports if "note" in found.metadata.annotations] == []


@pytest.mark.spec("KEP-1645#labels-and-annotations: bad metadata", "SHOULD")
def test_a_label_that_no_import_can_carry_is_left_out_and_told() -> None:
    told = export(labels={"tier": "not a value!", "team": "a"}, annotations={"no key!": "text"})
    world = settled(exporter("c1", service(), export_=told))
    assert [("tier" in each.metadata.labels, each.metadata.labels["team"]) for each in world.imports] == [
        (False, "a")
    ] * 3
    (valid,) = [each for each in world.conditions["c1"] if each.type == "Valid"]
    assert (valid.status, valid.reason) == ("True", "Valid")
    assert 'label "tier" has no valid value; annotation "no key!" is no valid key' in valid.message


@pytest.mark.spec("KEP-1645#restricting-exports: system namespaces", "SHOULD")
def test_namespaces_that_each_cluster_has_for_itself_take_no_part() -> None:
    exported = exports("c2", service(SYSTEM), key=SYSTEM)
    world = settled(exported, key=SYSTEM)
    assert (world.imports, world.reasons("Valid")) == ([], {"c2": "NamespaceDenied"})
    somebodys = settled(exports("c2", service())).targets["c1"].service_import
    held = observed_target(exported, key=SYSTEM, service_import=somebodys)
    assert plan_target(held) == ()


@pytest.mark.spec("KEP-1645#service-types: types", "MUST")
@pytest.mark.parametrize(
    ("exported", "type_"),
    [
        (service(), "ClusterSetIP"),
        (service(kind="NodePort"), "ClusterSetIP"),
        (service(kind="LoadBalancer"), "ClusterSetIP"),
        (headless(), "Headless"),
    ],
)
def test_which_type_becomes_which(exported: Service, type_: str) -> None:
    assert [found.spec.type for found in settled(exports("c1", exported)).imports] == [type_] * 3


@pytest.mark.spec("KEP-1645#service-types: ExternalName", "MUST")
def test_external_name_is_refused_with_a_condition_and_has_no_import() -> None:
    world = settled(exports("c1", service())).settle(exports("c1", service(kind="ExternalName")))
    assert (world.imports, world.reasons("Valid")) == ([], {"c1": "InvalidServiceType"})


@pytest.mark.spec("KEP-1645#service-types: local behaviour stays", "MUST")
def test_service_and_slices_of_the_exporter_itself_are_never_written_to() -> None:
    world = settled()
    target = world.targets["c1"]
    target.put("services", service())
    target.put("endpointslices", slice_("web-1", "10.1.0.5"))
    before = dict(target.objects)
    world.settle(exports("c1", service()), exports("c2", service(WEB, "http 81")))
    assert {kept: target.objects[kept] for kept in before} == before
    assert {name for plural, name in target.objects if plural == "services"} == {
        "web",
        derived_service_name(WEB),
    }
    assert world.settle().targets["c1"].objects == before
