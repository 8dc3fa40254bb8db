"""Faults that users of such systems met, as lives of a service in a small clusterset; named by the right outcome."""

import pytest

from mcs.model.names import ServiceKey
from mcs.model.services import Service
from mcs.model.slices import EndpointSlice
from mcs.services.observed import Exporter
from mcs.testing.builders import WEB, at, export, exporter, headless, service, slice_
from mcs.testing.simulated_clusterset import CLUSTERS, SimulatedClusterset, exports

API = ServiceKey("demo", "api")
TWIN = ServiceKey("demo2", "web")


def test_a1_an_export_heals_when_its_service_appears() -> None:
    world = SimulatedClusterset().settle(exports("c2", None))
    assert world.imports == []
    assert world.reasons("Valid") == {"c2": "NoService"}
    assert world.reasons("Conflict") == {}
    world.settle(exports("c2", service()))
    assert world.reasons("Ready") == {"c2": "Exported"}
    assert [world.ports(cluster) for cluster in CLUSTERS] == [["http 80/TCP"]] * 3


@pytest.mark.parametrize("kind", ["LoadBalancer", "NodePort"])
def test_a3_a_service_reachable_from_outside_is_exported_by_its_cluster_ip(kind: str) -> None:
    world = SimulatedClusterset().settle(exports("c2", service(WEB, "8080", kind=kind)))
    assert [each.spec.type for each in world.imports] == ["ClusterSetIP"] * 3
    assert world.ports() == [" 8080/TCP"]


def test_a4_a_type_that_becomes_supported_is_exported_and_the_reverse_takes_it_back() -> None:
    world = SimulatedClusterset().settle(exports("c2", service(kind="ExternalName")))
    assert (world.imports, world.reasons("Valid")) == ([], {"c2": "InvalidServiceType"})
    world.settle(exports("c2", service()))
    assert (len(world.imports), world.reasons("Valid")) == (3, {"c2": "Valid"})
    world.settle(exports("c2", service(kind="ExternalName")))
    assert (world.imports, world.reasons("Valid")) == ([], {"c2": "InvalidServiceType"})
    assert not any(target.objects for target in world.targets.values())


def test_a5_a_changed_port_arrives_and_the_address_stays() -> None:
    world = SimulatedClusterset().settle(exports("c2", service()))
    ips = world.imports[0].spec.ips
    world.settle(exports("c2", service(WEB, "http 81")))
    assert world.ports() == world.derived_ports() == ["http 81/TCP"]
    assert world.imports[0].spec.ips == ips


def test_a6_a_renamed_port_is_renamed_everywhere() -> None:
    world = SimulatedClusterset().settle(exports("c2", service()))
    world.settle(exports("c2", service(WEB, "web 80"), "web 8080"))
    assert world.ports() == world.derived_ports() == ["web 80/TCP"]
    assert world.served("web") == ["c2"]
    assert world.served("http") == []


def test_a8_scaling_arrives_without_a_touch_of_service_or_export() -> None:
    world = SimulatedClusterset().settle(exporter("c2", service(), slice_("web-1", "10.2.0.5")))
    world.settle(exporter("c2", service(), slice_("web-1", "10.2.0.5", "10.2.0.6", "10.2.0.7")))
    assert [len(each.endpoints or ()) for each in world.mirrors("c2")] == [3]


def test_b1_one_number_in_two_protocols_is_two_ports() -> None:
    dns = service(WEB, "dns 53/UDP", "dns-tcp 53/TCP")
    world = SimulatedClusterset().settle(exports("c2", dns, "dns 5353/UDP", "dns-tcp 5354/TCP"))
    assert world.ports() == world.derived_ports() == ["dns 53/UDP", "dns-tcp 53/TCP"]
    (mirror,) = world.mirrors("c2")
    assert [(each.name, each.port) for each in mirror.ports or ()] == [("dns", 5353), ("dns-tcp", 5354)]


def test_b2_and_b15_traffic_to_a_contested_port_goes_where_it_is_served_and_all_exporters_are_told() -> None:
    world = SimulatedClusterset().settle(exports("c1", service()), exports("c2", service(WEB, "http 8080")))
    assert world.ports() == ["http 80/TCP"]
    assert world.reasons("Conflict") == {"c1": "PortConflict", "c2": "PortConflict"}
    assert world.served("http") == ["c1"]
    assert len(world.mirrors("c2")) == 1


def test_b4_a_port_of_one_cluster_goes_to_that_cluster() -> None:
    world = SimulatedClusterset().settle(
        exports("c1", service(WEB, "tcp 42"), "tcp 8042"),
        exports("c2", service(WEB, "tcp 42", "stcp 142/SCTP"), "tcp 8042", "stcp 8142/SCTP"),
    )
    assert world.ports() == ["tcp 42/TCP", "stcp 142/SCTP"]
    assert world.reasons("Conflict") == {"c1": "PortConflict", "c2": "PortConflict"}
    assert (world.served("tcp"), world.served("stcp")) == (["c1", "c2"], ["c2"])


def test_b6_an_unnamed_port_beside_a_named_one_has_a_name_where_kubernetes_wants_one() -> None:
    world = SimulatedClusterset().settle(
        exports("c1", service(WEB, "80"), "8080"), exports("c2", service(WEB, "web 81"), "web 8081")
    )
    assert world.ports() == [" 80/TCP", "web 81/TCP"]
    assert world.derived_ports() == ["tcp-80 80/TCP", "web 81/TCP"]
    assert (world.served("tcp-80"), world.served("web")) == (["c1"], ["c2"])


@pytest.mark.parametrize(
    ("oldest", "other", "kind"),
    [(service(), headless(), "ClusterSetIP"), (headless(), service(), "Headless")],
)
def test_b8_the_oldest_decides_the_type_and_the_loser_is_still_reached(
    oldest: Service, other: Service, kind: str
) -> None:
    world = SimulatedClusterset().settle(exports("c1", oldest), exports("c2", other))
    assert [each.spec.type for each in world.imports] == [kind] * 3
    assert world.reasons("Conflict") == {"c1": "TypeConflict", "c2": "TypeConflict"}
    assert [bool(each.spec.ips) for each in world.imports] == [kind == "ClusterSetIP"] * 3
    assert world.served("http") == ["c1", "c2"]


def test_b11_a_conflict_ends_when_the_exporters_agree() -> None:
    world = SimulatedClusterset().settle(
        exports("c1", service(affinity_seconds=10)), exports("c2", service())
    )
    both = "SessionAffinityConfigConflict,SessionAffinityConflict"
    assert world.reasons("Conflict") == {"c1": both, "c2": both}
    config = world.imports[0].spec.session_affinity_config
    assert config is not None
    assert config.client_ip is not None
    assert config.client_ip.timeout_seconds == 10
    same = service(affinity_seconds=10)
    world.settle(exports("c1", same), exports("c2", same))
    assert world.reasons("Conflict") == {"c1": "NoConflicts", "c2": "NoConflicts"}


def test_b12_the_import_survives_the_oldest_and_follows_the_next() -> None:
    second = exports("c2", service())
    world = SimulatedClusterset().settle(exports("c1", service(affinity_seconds=10)), second)
    uids = [each.metadata.uid for each in world.imports]
    world.settle(second)
    assert [each.metadata.uid for each in world.imports] == uids
    assert [each.cluster for each in world.imports[0].status.clusters] == ["c2"]
    assert world.imports[0].spec.session_affinity == "None"
    assert world.reasons("Conflict") == {"c2": "NoConflicts"}


def test_b14_and_c11_services_of_other_names_have_nothing_to_do_with_each_other() -> None:
    worlds = {key: SimulatedClusterset(key) for key in (WEB, API, TWIN)}
    ports = {WEB: "http 80", API: "http 9090", TWIN: "http 81"}
    everything = [
        exports(cluster, service(key, ports[key]), key=key) for key in worlds for cluster in ("c1", "c2")
    ]
    for world in worlds.values():
        world.settle(*(each for each in everything if each.export.key == world.key))
        assert world.reasons("Conflict") == {"c1": "NoConflicts", "c2": "NoConflicts"}
    before = dict(worlds[TWIN].targets["c1"].objects)
    target = worlds[TWIN].targets["c1"]
    assert target.rounds_to_rest(everything, CLUSTERS, at(900)) == 0
    assert target.objects == before


def test_b17_only_what_is_exported_on_purpose_is_exported() -> None:
    first = Exporter(
        exports("c1", None).cluster,
        export(labels={"a": "1"}, created=1),
        service(labels={"dummy-svc": "dummy"}),
        (),
    )
    second = exporter("c2", service(), export_=export(labels={"b": "2"}, created=2))
    world = SimulatedClusterset().settle(first, second)
    labels = world.imports[0].metadata.labels
    assert labels["a"] == "1"
    assert not {"b", "dummy-svc"} & set(labels)
    assert world.reasons("Conflict") == {"c1": "LabelsConflict", "c2": "LabelsConflict"}


def test_b18_addresses_correspond_to_families() -> None:
    dual = service(families=("IPv4", "IPv6"))
    world = SimulatedClusterset().settle(exports("c1", dual), exports("c2", service()))
    for each in world.imports:
        assert [("IPv6" if ":" in ip else "IPv4") for ip in each.spec.ips] == ["IPv4", "IPv6"]
        assert each.spec.ip_families == ("IPv4", "IPv6")
    assert world.reasons("Conflict") == {"c1": "IPFamilyConflict", "c2": "IPFamilyConflict"}


def test_c5_the_mirrors_of_a_cluster_that_exports_too_are_not_exported_back() -> None:
    world = SimulatedClusterset().settle(exports("c1", service()), exports("c2", service()))
    again = Exporter(
        exports("c1", None).cluster,
        export(created=1),
        service(),
        (*exports("c1", None).slices, *world.targets["c1"].mirrors),
    )
    world.settle(again, exports("c2", service()))
    addresses = [
        address
        for mirror in world.targets["c2"].mirrors
        for each in mirror.endpoints or ()
        for address in each.addresses
    ]
    assert sorted(addresses) == ["10.1.0.5", "10.2.0.5"]


def test_c8_after_an_absence_the_matching_objects_go_and_the_others_stay() -> None:
    two = (slice_("web-1", "10.2.0.5"), slice_("web-2", "10.2.0.6"))
    world = SimulatedClusterset().settle(exports("c1", service()), exporter("c2", service(), *two, created=2))
    before = dict(world.targets["c3"].objects)
    world.settle(exports("c1", service()), exporter("c2", service(), two[0], created=2))
    after = world.targets["c3"].objects
    (gone,) = set(before) - set(after)
    assert gone[0] == "endpointslices"
    assert {kept: before[kept] for kept in after} == after


def test_c13_one_changed_endpoint_rewrites_one_of_many_slices() -> None:
    def slices(last: str) -> list[EndpointSlice]:
        hosts = [[f"10.2.{number}.{host}" for host in range(1, 101)] for number in range(25)]
        hosts[24][99] = last
        return [slice_(f"web-{number}", *each) for number, each in enumerate(hosts)]

    world = SimulatedClusterset(clusters=("c1", "c2")).settle(
        exporter("c2", headless(), *slices("10.2.24.100"))
    )
    target = world.targets["c1"]
    assert sum(len(each.endpoints or ()) for each in target.mirrors) == 2500
    writes = target.writes
    world.settle(exporter("c2", headless(), *slices("10.2.24.200")))
    assert target.writes == writes + 1


def test_c18_what_has_not_changed_is_not_written() -> None:
    world = SimulatedClusterset().settle(exports("c1", service()), exports("c2", headless()))
    writes = [target.writes for target in world.targets.values()]
    conditions = dict(world.conditions)
    for _ in range(3):
        world.settle(exports("c1", service()), exports("c2", headless()))
    assert [target.writes for target in world.targets.values()] == writes
    assert world.conditions == conditions


def test_e6_an_unexport_arrives_everywhere_and_with_another_exporter_left_the_import_stays() -> None:
    world = SimulatedClusterset().settle(exports("c1", service()), exports("c2", service()))
    world.settle(exports("c1", service()))
    assert len(world.imports) == 3
    assert all(not world.mirrors("c2", cluster) for cluster in CLUSTERS)
    world.settle()
    assert world.imports == []
    assert not any(target.objects for target in world.targets.values())


def test_e7_a_cluster_that_joins_gets_all_that_is_exported() -> None:
    old, new = SimulatedClusterset(), SimulatedClusterset(clusters=(*CLUSTERS, "c4"))
    old.settle(exports("c1", service()))
    new.settle(exports("c1", service()))
    assert new.ports("c4") == old.ports("c1")
    assert len(new.mirrors("c1", "c4")) == 1
