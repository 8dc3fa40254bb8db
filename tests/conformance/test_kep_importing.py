"""KEP-1645, importing: where an import is, how long it lives, who may change it, and what its status says."""

import pytest
from msgspec.structs import replace

from mcs.model.meta import ObjectMeta
from mcs.model.multicluster import ImportPort, ServiceImport, ServiceImportSpec
from mcs.model.names import derived_service_name
from mcs.model.services import ClientIPConfig, Service, SessionAffinityConfig
from mcs.services.observed import Exporter, NamespacePhase
from mcs.services.plan import plan_target
from mcs.testing.builders import WEB, at, exporter, headless, observed_target, service
from mcs.testing.simulated_clusterset import CLUSTERS, exports
from mcs.testing.simulated_target import SimulatedTarget, import_of, in_words, ready_of
from tests.conformance.small_clusterset import SIX, edit_import, exporting, settled


@pytest.mark.spec("KEP-1645#importing-services: one import in every cluster", "MUST")
@pytest.mark.parametrize("exported", [service(), headless()])
def test_every_cluster_has_one_import_of_that_name_the_exporting_one_included(exported: Service) -> None:
    world = settled(exports("c1", exported), exports("c2", exported))
    assert [found.key for found in world.imports] == [WEB] * 3


@pytest.mark.spec("KEP-1645#importing-services: only where the namespace is", "MUST")
@pytest.mark.parametrize(
    ("phase", "is_imported"), [("absent", False), ("terminating", False), ("present", True)]
)
def test_no_import_where_the_namespace_is_missing_and_one_as_soon_as_it_is_there(
    phase: NamespacePhase, is_imported: bool
) -> None:
    planned = plan_target(observed_target(exports("c2", service()), target="c1", namespace=phase))
    assert bool(planned) is is_imported


@pytest.mark.spec("KEP-1645#importing-services: namespaces are not made", "MAY")
def test_only_mirrors_derived_services_and_imports_are_written() -> None:
    target = SimulatedTarget("c1", WEB)
    written: set[str] = set()
    for _ in range(5):
        actions = target.plan(exports("c1", service()), exports("c2", service()))
        written |= set(in_words(actions))
        target.carry_out(actions)
    assert written == {
        "apply endpointslices",
        "apply services",
        "apply serviceimports",
        "apply serviceimports/status",
    }


@pytest.mark.spec("KEP-1645#importing-services: as long as one export", "MUST")
@pytest.mark.parametrize("exported", [service(), headless()])
def test_an_import_lives_until_the_last_export_is_gone(exported: Service) -> None:
    world = settled(exports("c1", exported), exports("c2", exported))
    assert len(world.settle(exports("c2", exported)).imports) == 3
    assert world.settle().imports == []


@pytest.mark.spec("KEP-1645#importing-services: not made anew", "MUST")
@pytest.mark.parametrize("left", ["c1", "c2"])
def test_an_import_is_the_same_object_after_one_of_its_exports_ended(left: str) -> None:
    world = settled(exports("c1", service()), exports("c2", service()))
    uids = [found.metadata.uid for found in world.imports]
    for target in world.targets.values():
        actions = target.plan(exports(left, service()))
        assert [word for word in in_words(actions) if word.startswith("delete service")] == []
    assert [found.metadata.uid for found in world.settle(exports(left, service())).imports] == uids
    assert exporting(world) == [[left]] * 3


@pytest.mark.spec("KEP-1645#importing-services: an invalid export adds nothing", "MUST")
@pytest.mark.parametrize("broken", [None, service(kind="ExternalName")])
def test_an_export_that_is_not_valid_neither_makes_nor_keeps_nor_shapes_an_import(
    broken: Service | None,
) -> None:
    oldest, valid = exports("c1", broken), exports("c2", service(WEB, "http 81"))
    assert settled(oldest).imports == []
    world = settled(oldest, valid)
    assert (exporting(world), world.ports()) == ([["c2"]] * 3, ["http 81/TCP"])
    assert world.settle(oldest).imports == []


@pytest.mark.spec("KEP-1645#importing-services: ours alone", "SHOULD")
@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("type", "Headless"),
        ("ports", (ImportPort(port=1, protocol="UDP"),)),
        ("ips", ("192.0.2.1",)),
        ("ip_families", SIX),
        ("session_affinity", "ClientIP"),
        ("session_affinity_config", SessionAffinityConfig(client_ip=ClientIPConfig(timeout_seconds=1))),
        ("internal_traffic_policy", "Local"),
        ("traffic_distribution", "PreferClose"),
    ],
)
def test_what_somebody_changes_in_an_import_is_put_right(field: str, value: object) -> None:
    world = settled(exports("c1", service()))
    before = edit_import(world.targets["c2"], **{field: value})
    world.settle(exports("c1", service()))
    assert import_of(world.targets["c2"]).spec == before.spec


@pytest.mark.spec("KEP-1645#importing-services: ours alone", "SHOULD")
def test_an_import_that_somebody_deletes_comes_back_with_its_address() -> None:
    world = settled(exports("c1", service()))
    target = world.targets["c2"]
    before = target.objects.pop(("serviceimports", "web"))
    world.settle(exports("c1", service()))
    assert import_of(target).spec == before.spec


@pytest.mark.spec("KEP-1645#importing-services: a human may be the controller", "MAY")
def test_an_import_that_somebody_else_made_is_left_as_it_is() -> None:
    world = settled()
    theirs = ServiceImport(
        metadata=ObjectMeta(name="web", namespace="demo"), spec=ServiceImportSpec(type="Headless", ports=())
    )
    world.targets["c2"].put("serviceimports", theirs)
    before = world.targets["c2"].service_import
    world.settle(exports("c1", service()))
    assert world.targets["c2"].service_import == before
    assert world.settle().targets["c2"].service_import == before


@pytest.mark.spec("KEP-1645#importing-services: exporting clusters", "MUST")
def test_the_status_lists_the_clusters_that_export_at_the_moment() -> None:
    world = settled(exports("c3", service()), exports("c1", headless()), exports("c2", None))
    assert exporting(world) == [["c1", "c3"]] * 3
    world.settle(exports("c3", service()))
    assert exporting(world) == [["c3"]] * 3


@pytest.mark.spec("KEP-1645#importing-services: errors are conditions", "SHOULD")
def test_a_family_of_which_the_cluster_has_no_addresses_is_told_by_the_import() -> None:
    target = SimulatedTarget("c1", WEB, ("IPv4",))
    target.known_families = frozenset({"IPv4"})
    six = exporter("c2", service(families=SIX))
    target.rounds_to_rest([exporter("c2", service())], CLUSTERS, at(100))
    target.rounds_to_rest([six], CLUSTERS, at(200))
    told = ready_of(target)
    assert (told.status, told.reason) == ("False", "IPFamilyNotSupported")
    assert "IPv6" in told.message
    assert (import_of(target).spec.ips, import_of(target).spec.ip_families) == ((), SIX)
    assert (target.derived, target.plan(six)) == (None, ())


@pytest.mark.spec("KEP-1645#importing-services: slices are there or not", "MUST")
def test_the_import_says_whether_endpoint_slices_exist() -> None:
    world = settled(exporter("c1", service()))
    for exported, told in ((exports("c1", service()), "Present"), (exporter("c1", service()), "Absent")):
        world.settle(exported)
        assert [found.status.endpoint_slice_objects for found in world.imports] == [told] * 3


@pytest.mark.spec("KEP-1645#importing-services: Ready", "MUST")
@pytest.mark.parametrize("exported", [service(), headless()])
def test_an_import_that_can_be_used_is_ready(exported: Service) -> None:
    world = settled(exports("c1", exported))
    told = [ready_of(target) for target in world.targets.values()]
    assert [(each.status, each.reason) for each in told] == [("True", "Ready")] * 3


@pytest.mark.spec("KEP-1645#importing-services: Pending", "MUST")
def test_an_import_whose_derived_service_cannot_be_ours_is_pending_and_says_what_to_do() -> None:
    world = settled()
    name = derived_service_name(WEB)
    theirs = replace(service(), metadata=ObjectMeta(name=name, namespace="demo"))
    world.targets["c2"].put("services", theirs)
    world.settle(exports("c1", service()))
    told = ready_of(world.targets["c2"])
    assert (told.status, told.reason) == ("False", "Pending")
    assert f"demo/{name}" in told.message
    assert "rename or delete it" in told.message
    assert import_of(world.targets["c2"]).spec.ips == ()


@pytest.mark.spec("KEP-1645#importing-services: Pending", "MUST")
@pytest.mark.parametrize("before", [(), (exports("c1", service()),)])
def test_an_import_without_a_port_is_pending_and_has_no_address(before: tuple[Exporter, ...]) -> None:
    portless = replace(service(), spec=replace(service().spec, ports=()))
    world = settled(*before).settle(exports("c1", portless))
    told = ready_of(world.targets["c1"])
    assert (told.status, told.reason) == ("False", "Pending")
    assert (world.imports[0].spec.ips, world.targets["c1"].derived) == ((), None)


@pytest.mark.spec("KEP-1645#version-skew-strategy: an older CRD", "MUST")
def test_an_import_whose_definition_drops_the_newest_field_is_not_written_again_and_again() -> None:
    target = settled(exports("c2", service())).targets["c1"]
    found = import_of(target)
    target.put("serviceimports", replace(found, status=replace(found.status, endpoint_slice_objects=None)))
    assert target.plan(exports("c2", service())) == ()


@pytest.mark.spec("KEP-1645#endpoint-ttl: unknown is not empty", "MUST NOT")
def test_a_cluster_that_cannot_be_seen_loses_nothing_for_that_alone() -> None:
    both = exports("c1", service()), exports("c2", service(WEB, "http 81", "dns 53/UDP"))
    target = settled(*both).targets["c3"]
    assert target.plan(both[0], seen=("c1", "c3")) == ()
    assert target.plan(seen=("c3",)) == ()
    # Whoever deletes the import does not decide about the addresses, nor about endpoints that nobody sees.
    target.objects.pop(("serviceimports", "web"))
    assert target.plan(seen=("c3",)) == ()


@pytest.mark.spec("KEP-1645#endpoint-ttl: unknown is not empty", "MUST NOT")
def test_what_was_last_known_of_a_cluster_that_cannot_be_seen_is_not_acted_upon() -> None:
    target = SimulatedTarget("c1", WEB)
    assert target.plan(exports("c2", service()), seen=("c1", "c3")) == ()
    assert target.plan(exports("c2", service()), seen=("c2", "c3")) == ()
