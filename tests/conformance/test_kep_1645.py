"""KEP-1645 sentence by sentence, judged by what a small clusterset holds once nobody has anything to write.

Each test names the section it checks. DNS has a file of its own; what a live API server must judge is in `tests/real`.
"""

from ipaddress import ip_address
from typing import Any

import pytest

from mcs.model.names import (
    SERVICE_NAME_LABEL,
    SLICE_MANAGED_BY_LABEL,
    SLICE_SERVICE_LABEL,
    SOURCE_CLUSTER_LABEL,
)
from mcs.model.services import Service
from mcs.model.slices import ForZone
from mcs.services.observed import Exporter
from mcs.services.plan import plan_target
from mcs.testing.builders import (
    WEB,
    endpoint,
    export,
    exporter,
    headless,
    observed_target,
    port,
    service,
    slice_,
)
from mcs.testing.simulated_clusterset import CLUSTERS, SimulatedClusterset, exports

DUAL = ("IPv4", "IPv6")
CLOSE = "PreferClose"
AFFINITY = "SessionAffinityConfigConflict,SessionAffinityConflict"


def settled(*exporters: Exporter) -> SimulatedClusterset:
    return SimulatedClusterset().settle(*exporters)


class TestExportingServices:
    def test_nothing_is_exported_by_default(self) -> None:
        assert settled().imports == []

    def test_the_export_names_the_service_by_namespace_and_name_in_its_own_cluster(self) -> None:
        world = settled(exporter("c1", None, export_=export()))
        assert (world.imports, world.reasons("Valid")) == ([], {"c1": "NoService"})

    def test_a_service_without_export_takes_no_part_when_another_cluster_exports_its_like(self) -> None:
        world = settled(exports("c2", service()))
        assert [{each.source_cluster for each in world.targets[c].mirrors} for c in CLUSTERS] == [{"c2"}] * 3

    def test_exports_of_one_name_from_several_clusters_are_one_service(self) -> None:
        world = settled(exports("c1", service()), exports("c2", service()))
        assert [[each.cluster for each in found.status.clusters] for found in world.imports] == [
            ["c1", "c2"]
        ] * 3
        assert world.served("http") == ["c1", "c2"]

    def test_deleting_the_export_ends_exporting(self) -> None:
        world = settled(exports("c1", service())).settle()
        assert [target.objects for target in world.targets.values()] == [{}] * 3

    def test_labels_and_annotations_of_service_and_export_are_not_exported(self) -> None:
        (found, *_) = settled(exports("c1", service(labels={"team": "a"}))).imports
        assert "team" not in found.metadata.labels

    def test_exported_labels_and_annotations_are_those_that_the_export_says(self) -> None:
        told = export(labels={"tier": "web"}, annotations={"note": "text"})
        (found, *_) = settled(exporter("c1", service(), export_=told)).imports
        assert (found.metadata.labels["tier"], found.metadata.annotations["note"]) == ("web", "text")


class TestServiceTypes:
    @pytest.mark.parametrize(
        ("exported", "type_"),
        [
            (service(), "ClusterSetIP"),
            (service(kind="NodePort"), "ClusterSetIP"),
            (service(kind="LoadBalancer"), "ClusterSetIP"),
            (headless(), "Headless"),
        ],
    )
    def test_which_type_becomes_which(self, exported: Service, type_: str) -> None:
        assert [found.spec.type for found in settled(exports("c1", exported)).imports] == [type_] * 3

    def test_external_name_is_refused_with_a_condition_and_has_no_import(self) -> None:
        world = settled(exports("c1", service(kind="ExternalName")))
        assert (world.imports, world.reasons("Valid")) == ([], {"c1": "InvalidServiceType"})


class TestImportingServices:
    def test_every_cluster_has_one_import_of_that_name_the_exporting_one_included(self) -> None:
        assert [found.key for found in settled(exports("c1", service())).imports] == [WEB] * 3

    def test_no_import_where_the_namespace_is_missing_and_one_as_soon_as_it_is_there(self) -> None:
        exported = exports("c2", service())
        assert plan_target(observed_target(exported, target="c1", namespace="absent")) == ()
        assert plan_target(observed_target(exported, target="c1")) != ()

    def test_an_import_lives_as_long_as_one_export_and_is_not_made_anew_meanwhile(self) -> None:
        world = settled(exports("c1", service()), exports("c2", service()))
        uids = [found.metadata.uid for found in world.imports]
        assert [found.metadata.uid for found in world.settle(exports("c2", service())).imports] == uids
        assert world.settle().imports == []

    def test_the_import_says_whether_endpoint_slices_exist(self) -> None:
        with_slices, without = exports("c1", service()), exporter("c1", service())
        found = [settled(each).imports[0].status.endpoint_slice_objects for each in (with_slices, without)]
        assert found == ["Present", "Absent"]


class TestClusterSetIP:
    def test_addresses_come_with_their_families_in_one_order(self) -> None:
        for found in settled(exports("c1", service(families=DUAL))).imports:
            families = tuple(f"IPv{ip_address(address).version}" for address in found.spec.ips)
            assert (families, found.spec.ip_families) == (DUAL, DUAL)

    def test_addresses_stay_for_the_life_of_the_import(self) -> None:
        world = settled(exports("c1", service()))
        before = [found.spec.ips for found in world.imports]
        world.settle(exports("c1", service(WEB, "http 81", affinity_seconds=10)), exports("c2", service()))
        assert [found.spec.ips for found in world.imports] == before

    def test_a_headless_import_has_none_but_its_families(self) -> None:
        for found in settled(exports("c1", headless())).imports:
            assert (found.spec.ips, found.spec.ip_families) == ((), ("IPv4",))


class TestConflictResolution:
    @pytest.mark.parametrize(
        ("reason", "older", "newer", "decided"),
        [
            ("TypeConflict", {}, {"is_headless": True}, ("type", "ClusterSetIP")),
            (
                AFFINITY,
                {},
                {"affinity_seconds": 9},
                ("session_affinity", "None"),
            ),
            (
                "InternalTrafficPolicyConflict",
                {"internal": "Local"},
                {},
                ("internal_traffic_policy", "Local"),
            ),
            (
                "TrafficDistributionConflict",
                {"distribution": "PreferClose"},
                {},
                ("traffic_distribution", "PreferClose"),
            ),
        ],
    )
    def test_the_oldest_export_decides_and_every_export_is_told(
        self, reason: str, older: dict[str, Any], newer: dict[str, Any], decided: tuple[str, str]
    ) -> None:
        # c1 is the older one whatever the order in which they are seen.
        world = settled(exports("c2", service(**newer)), exports("c1", service(**older)))
        assert [getattr(found.spec, decided[0]) for found in world.imports] == [decided[1]] * 3
        assert world.reasons("Conflict") == {"c1": reason, "c2": reason}

    def test_without_a_conflict_that_is_said_too(self) -> None:
        world = settled(exports("c1", service()), exports("c2", service()))
        assert world.reasons("Conflict") == {"c1": "NoConflicts", "c2": "NoConflicts"}

    def test_a_type_that_flips_when_the_oldest_goes_is_told_by_events_in_every_cluster(self) -> None:
        world = settled(exports("c1", service()), exports("c2", headless()))
        assert [each.events for each in world.targets.values()] == [[], [], []]
        world.settle(exports("c2", headless()))
        told = [[event.reason for event in each.events] for each in world.targets.values()]
        assert told == [["TypeChanged"]] * 3

    def test_equal_ages_are_decided_alike_in_every_cluster(self) -> None:
        both = [
            exporter(name, service(internal=policy)) for name, policy in (("c2", "Local"), ("c1", "Cluster"))
        ]
        assert [found.spec.internal_traffic_policy for found in settled(*both).imports] == ["Cluster"] * 3

    def test_a_newer_export_does_not_disturb_what_an_older_one_brought_about(self) -> None:
        world = settled(exports("c1", service(affinity_seconds=10)))
        before = [found.spec for found in world.imports]
        world.settle(exports("c1", service(affinity_seconds=10)), exports("c2", service()))
        assert [found.spec for found in world.imports] == before

    def test_exported_labels_are_those_of_the_oldest_as_a_whole(self) -> None:
        world = settled(
            exporter("c1", service(), export_=export(created=1, labels={"a": "1"})),
            exporter("c2", service(), export_=export(created=2, labels={"b": "2"})),
        )
        assert [{"a", "b"} & found.metadata.labels.keys() for found in world.imports] == [{"a"}] * 3
        assert world.reasons("Conflict") == {"c1": "LabelsConflict", "c2": "LabelsConflict"}

    def test_families_of_which_one_reaches_only_some_clusters_are_a_conflict(self) -> None:
        world = settled(exports("c1", service(families=DUAL)), exports("c2", service()))
        assert world.reasons("Conflict") == {"c1": "IPFamilyConflict", "c2": "IPFamilyConflict"}


class TestTrafficDistribution:
    def test_the_preference_holds_for_the_endpoints_of_all_clusters(self) -> None:
        near = service(distribution="PreferSameZone")
        zoned = (
            exporter(cluster, near, slice_("web-1", endpoint(f"10.{cluster[1:]}.0.5", zone="z1")))
            for cluster in ("c1", "c2")
        )
        for target in settled(*zoned).targets.values():
            endpoints = [each for mirror in target.mirrors for each in mirror.endpoints or ()]
            assert [each.hints.for_zones for each in endpoints if each.hints] == [(ForZone(name="z1"),)] * 2


class TestServicePort:
    @pytest.mark.parametrize(
        ("older", "newer", "union"),
        [
            (["http 80"], ["http 80", "web 81"], ["http 80/TCP", "web 81/TCP"]),
            (["http 80"], ["http 81"], ["http 80/TCP"]),
            (["http 80"], ["web 80"], ["http 80/TCP"]),
            (["dns 53/UDP"], ["dns-tcp 53/TCP"], ["dns 53/UDP", "dns-tcp 53/TCP"]),
            (["80"], ["81"], [" 80/TCP"]),
        ],
    )
    def test_ports_are_the_union_in_which_name_and_number_occur_once(
        self, older: list[str], newer: list[str], union: list[str]
    ) -> None:
        world = settled(exports("c2", service(WEB, *newer)), exports("c1", service(WEB, *older)))
        assert [world.ports(cluster) for cluster in CLUSTERS] == [union] * 3
        assert world.reasons("Conflict") == {"c1": "PortConflict", "c2": "PortConflict"}

    def test_of_one_port_the_oldest_says_the_app_protocol(self) -> None:
        named = [service(WEB, port("http 80", app_protocol=protocol)) for protocol in ("h2c", "http")]
        (found, *_) = settled(exports("c1", named[0]), exports("c2", named[1])).imports
        assert [each.app_protocol for each in found.spec.ports] == ["h2c"]

    def test_traffic_to_a_port_goes_only_to_clusters_that_serve_it(self) -> None:
        world = settled(exports("c1", service(WEB, "http 80")), exports("c2", service(WEB, "http 81")))
        assert world.served("http") == ["c1"]


class TestEndpointSlices:
    def test_each_holds_endpoints_of_one_cluster_and_says_which(self) -> None:
        world = settled(exports("c1", service()), exports("c2", service()))
        for target in world.targets.values():
            found = {each.source_cluster: each.endpoints for each in target.mirrors}
            assert {c: [e.addresses for e in each or ()] for c, each in found.items()} == {
                "c1": [("10.1.0.5",)],
                "c2": [("10.2.0.5",)],
            }

    def test_labels_name_import_and_source_and_keep_the_default_controller_away(self) -> None:
        (mirror,) = settled(exports("c2", service())).mirrors("c2")
        labels = mirror.metadata.labels
        assert (labels[SERVICE_NAME_LABEL], labels[SOURCE_CLUSTER_LABEL]) == ("web", "c2")
        assert labels[SLICE_MANAGED_BY_LABEL] != "endpointslice-controller.k8s.io"

    def test_the_local_service_of_that_name_does_not_get_foreign_endpoints(self) -> None:
        (mirror,) = settled(exports("c2", service())).mirrors("c2")
        assert mirror.metadata.labels[SLICE_SERVICE_LABEL] != "web"

    def test_hostname_zone_and_conditions_are_carried(self) -> None:
        source = endpoint("10.2.0.5", ready=False, serving=True, terminating=True, hostname="web-0", zone="z")
        (mirror,) = settled(exporter("c2", headless(), slice_("web-1", source))).mirrors("c2")
        (found,) = mirror.endpoints or ()
        assert (found.hostname, found.zone, found.conditions) == ("web-0", "z", source.conditions)

    def test_they_go_with_the_export(self) -> None:
        world = settled(exports("c1", service()), exports("c2", service())).settle(exports("c1", service()))
        assert [world.mirrors("c2", cluster) for cluster in CLUSTERS] == [[]] * 3
