"""What the clusterset makes of several exports."""

import pytest
from msgspec.structs import replace

from mcs.model.meta import ObjectMeta
from mcs.model.multicluster import ImportPort, ServiceImport, ServiceImportSpec
from mcs.model.names import EXPORTED_KEYS_ANNOTATION
from mcs.model.services import ClientIPConfig, Service, ServiceSpec, SessionAffinityConfig
from mcs.model.slices import IPV6
from mcs.services.merge import Properties, in_precedence, merge, offers, remembered_properties
from mcs.services.observed import Exporter
from mcs.testing.builders import WEB, export, exporter, headless, service, slice_

DUAL = ("IPv4", "IPv6")


def merged(*exporters: Exporter) -> Properties:
    return merge(offers(exporters))


def offered(exported: Service) -> Properties:
    return merged(exporter("c1", exported))


def lasting(seconds: int | None) -> SessionAffinityConfig:
    return SessionAffinityConfig(client_ip=ClientIPConfig(timeout_seconds=seconds))


@pytest.mark.parametrize(
    ("case", "ages", "order"),
    [
        ("the oldest export comes first", {"c1": 3, "c2": 1, "c3": 2}, ["c2", "c3", "c1"]),
        ("the cluster id decides between equal ages", {"c3": 1, "c1": 1, "c2": 1}, ["c1", "c2", "c3"]),
    ],
)
def test_precedence(case: str, ages: dict[str, int], order: list[str]) -> None:
    exporters = [exporter(cluster, service(), created=age) for cluster, age in ages.items()]
    assert [each.cluster for each in in_precedence(exporters)] == order, case


def test_e12_times_are_compared_as_times_and_unreadable_ones_come_last() -> None:
    times = {"c1": "soon", "c2": "2026-01-01T01:00:00+02:00", "c3": "2025-12-31T23:30:00Z", "c4": ""}
    exporters = [
        exporter(cluster, service(), export_=replace(export(), metadata=ObjectMeta(creation_timestamp=time)))
        for cluster, time in times.items()
    ]
    assert [each.cluster for each in in_precedence(exporters)] == ["c2", "c3", "c1", "c4"]


@pytest.mark.parametrize(
    ("case", "exported", "families"),
    [
        ("families are those of the Service", service(families=("IPv6", "IPv4")), ("IPv6", "IPv4")),
        ("without them those of its addresses", service(families=DUAL), DUAL),
        ("a headless Service states its own", headless(families=("IPv6",)), ("IPv6",)),
    ],
)
def test_offered_families(case: str, exported: Service, families: tuple[str, ...]) -> None:
    assert offered(exported).ip_families == families, case


def test_families_that_nothing_states_are_those_of_the_slices_then_ipv4() -> None:
    bare = Service(metadata=ObjectMeta(name="web", namespace="demo"), spec=ServiceSpec(cluster_ip="None"))
    six = slice_("web-1", "fd00::1", family=IPV6)
    assert merged(exporter("c1", bare, six)).ip_families == ("IPv6",)
    assert merged(exporter("c1", bare)).ip_families == ("IPv4",)


@pytest.mark.parametrize(
    ("case", "seconds", "used"),
    [
        ("what is stated", 10, 10),
        ("nothing stated is three hours", None, 10800),
        ("nothing that an API server takes is three hours", 90000, 10800),
        ("nor zero", 0, 10800),
    ],
)
def test_affinity_lasts(case: str, seconds: int | None, used: int) -> None:
    exported = service(affinity_seconds=1)
    exported = replace(exported, spec=replace(exported.spec, session_affinity_config=lasting(seconds)))
    assert offered(exported).session_affinity_config == lasting(used), case


def test_without_affinity_there_is_no_configuration_of_it() -> None:
    exported = service()
    exported = replace(exported, spec=replace(exported.spec, session_affinity_config=lasting(10)))
    assert offered(exported).session_affinity == "None"
    assert offered(exported).session_affinity_config is None


def test_a_distribution_that_is_not_known_is_none() -> None:
    assert offered(service(distribution="PreferMoon")).traffic_distribution is None


def test_the_oldest_decides_all_but_the_ports() -> None:
    older = service(affinity_seconds=10, internal="Local", distribution="PreferClose", families=DUAL)
    newer = service(WEB, "web 81", is_headless=True)
    found = merged(exporter("c2", newer, created=2), exporter("c1", older, created=1))
    assert found == Properties(
        type="ClusterSetIP",
        ports=(
            ImportPort(port=80, protocol="TCP", name="http"),
            ImportPort(port=81, protocol="TCP", name="web"),
        ),
        ip_families=DUAL,
        session_affinity="ClientIP",
        session_affinity_config=lasting(10),
        internal_traffic_policy="Local",
        traffic_distribution="PreferClose",
    )


def test_b12_when_the_oldest_leaves_the_next_one_decides() -> None:
    oldest, next_one = exporter("c1", service(affinity_seconds=10)), exporter("c2", service(), created=1)
    assert merged(oldest, next_one).session_affinity == "ClientIP"
    assert merged(next_one).session_affinity == "None"


def test_headless_families_are_those_of_any_exporter() -> None:
    found = merged(exporter("c1", headless()), exporter("c2", headless(families=("IPv6",)), created=1))
    assert found.ip_families == DUAL


def test_an_import_remembers_what_was_exported_and_nothing_else() -> None:
    written = ServiceImport(
        metadata=ObjectMeta(
            labels={"a": "1", "theirs": "1"},
            annotations={"b": "2", "theirs": "1", EXPORTED_KEYS_ANNOTATION: "a,gone;b"},
        ),
        spec=ServiceImportSpec(type="Headless", ports=(), ip_families=("IPv6",)),
    )
    found = remembered_properties(written)
    assert (found.labels, found.annotations) == ({"a": "1"}, {"b": "2"})
    assert (found.type, found.ip_families) == ("Headless", ("IPv6",))
