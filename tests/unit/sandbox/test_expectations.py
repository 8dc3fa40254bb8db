"""What the sandbox's check expects, and when an answer is as expected."""

from __future__ import annotations

import msgspec
import pytest

from mcs.model.meta import Condition, ObjectMeta
from mcs.model.multicluster import (
    ImportCluster,
    ImportPort,
    ImportType,
    ServiceExport,
    ServiceExportStatus,
    ServiceImport,
    ServiceImportSpec,
    ServiceImportStatus,
)
from mcs.model.names import SERVICE_NAME_LABEL, ClusterId, ServiceKey
from mcs.model.slices import IPV6, EndpointSlice
from mcs.sandbox.demo.expectations import (
    Answer,
    Expected,
    Kind,
    Question,
    Seen,
    everything_expected,
    is_as_expected,
    not_yet_imported,
)
from mcs.testing.builders import WEB, endpoint, export, slice_, slice_port

EAST, WEST = ClusterId("east"), ClusterId("west")
OTHER = ServiceKey("demo", "other")


def imported(
    type_: ImportType = "ClusterSetIP", *ips: str, key: ServiceKey = WEB, sources: tuple[str, ...] = ("east",)
) -> ServiceImport:
    """An import of demo/web with a named port 80 and a port 53/UDP without a name."""
    ports = (ImportPort(port=80, protocol="TCP", name="http"), ImportPort(port=53, protocol="UDP"))
    return ServiceImport(
        metadata=ObjectMeta(name=key.name, namespace=key.namespace),
        spec=ServiceImportSpec(type=type_, ports=ports, ips=ips),
        status=ServiceImportStatus(clusters=tuple(ImportCluster(cluster=each) for each in sources)),
    )


def refused(key: ServiceKey) -> ServiceExport:
    invalid = Condition("Valid", "False", "InvalidServiceType", "", "2026-01-01T00:00:00Z")
    return msgspec.structs.replace(export(key), status=ServiceExportStatus(conditions=(invalid,)))


def seen(
    *imports: ServiceImport,
    exports: tuple[ServiceExport, ...] = (),
    slices: tuple[EndpointSlice, ...] = (),
) -> Seen:
    """East exports and holds the slices; only west imports."""
    return Seen(
        exports={EAST: exports, WEST: ()},
        imports={WEST: imports},
        slices={EAST: slices, WEST: ()},
    )


def answers(found: Seen) -> dict[tuple[str, Kind], list[str]]:
    """Expected data by name, without the zone, and kind."""
    expected = everything_expected(found, "clusterset.local")
    assert {each.question.cluster for each in expected} <= {"west"}
    by_question = {
        (each.question.name.removesuffix(".svc.clusterset.local."), each.question.kind): sorted(each.data)
        for each in expected
    }
    assert by_question.pop(("dns-version.clusterset.local.", "TXT")) == ['"1.0.0"']
    assert len(by_question) == len(expected) - 1, "no question twice"
    return by_question


def test_a_clusterset_ip_is_expected_in_its_families_and_as_srv_of_each_named_port() -> None:
    assert answers(seen(imported("ClusterSetIP", "10.97.0.1", "fd00::1"))) == {
        ("web.demo", "A"): ["10.97.0.1"],
        ("web.demo", "AAAA"): ["fd00::1"],
        ("_http._tcp.web.demo", "SRV"): ["80 web.demo.svc.clusterset.local."],
    }


def test_ready_endpoints_of_exporting_clusters_are_expected_of_a_headless_name_and_of_their_own() -> None:
    four = slice_("four", endpoint("10.1.0.1", hostname="a"), endpoint("10.1.0.2", hostname="b", ready=False))
    six = slice_("six", endpoint("fd00::1", hostname="a"), family=IPV6, ports=(slice_port("http 8080"),))
    assert answers(seen(imported("Headless"), slices=(four, six))) == {
        ("web.demo", "A"): ["10.1.0.1"],
        ("web.demo", "AAAA"): ["fd00::1"],
        ("a.east.web.demo", "A"): ["10.1.0.1"],
        ("a.east.web.demo", "AAAA"): ["fd00::1"],
        ("_http._tcp.web.demo", "SRV"): ["8080 a.east.web.demo.svc.clusterset.local."],
    }


def test_slices_of_other_services_and_of_clusters_that_do_not_export_are_not_expected() -> None:
    foreign = slice_("other", endpoint("10.1.0.1", hostname="a"), key=OTHER)
    assert answers(seen(imported("Headless"), slices=(foreign,))) == {}
    own = slice_("web", endpoint("10.1.0.1", hostname="a"))
    assert answers(seen(imported("Headless", sources=("west",)), slices=(own,))) == {}


def test_a_mirror_is_no_source() -> None:
    source = slice_("web", endpoint("10.1.0.1", hostname="a"))
    labels = {**source.metadata.labels, SERVICE_NAME_LABEL: "web"}
    mirror = msgspec.structs.replace(source, metadata=msgspec.structs.replace(source.metadata, labels=labels))
    assert answers(seen(imported("Headless"), slices=(mirror,))) == {}


def test_the_name_of_a_refused_export_is_expected_not_to_exist() -> None:
    assert answers(seen(exports=(refused(OTHER),))) == {("other.demo", "A"): []}


@pytest.mark.parametrize(
    ("found", "problem"),
    [
        (seen(), "nothing is exported yet"),
        (seen(exports=(refused(OTHER),)), "nothing is exported yet"),
        (seen(exports=(export(WEB), export(OTHER))), "west has not imported demo/other, demo/web"),
        (seen(imported(), exports=(export(WEB), export(OTHER))), "west has not imported demo/other"),
        (seen(imported(), exports=(export(WEB), refused(OTHER))), None),
    ],
)
def test_all_that_is_exported_and_not_refused_must_be_imported(found: Seen, problem: str | None) -> None:
    assert not_yet_imported(found) == problem


@pytest.mark.parametrize(
    ("kind", "wanted", "answer", "right"),
    [
        ("A", ["10.0.0.1", "10.0.0.2"], frozenset({"10.0.0.2", "10.0.0.1"}), True),
        ("A", ["10.0.0.1", "10.0.0.2"], frozenset({"10.0.0.1"}), False),
        ("A", ["10.0.0.1"], frozenset({"10.0.0.1", "10.0.0.2"}), False),
        ("A", ["10.0.0.1"], frozenset(), False),
        ("A", ["10.0.0.1"], "NXDOMAIN", False),
        ("A", ["10.0.0.1"], "SERVFAIL", False),
        ("A", ["10.0.0.1"], "no answer (Timeout)", False),
        ("A", [], "NXDOMAIN", True),
        ("A", [], "SERVFAIL", False),
        ("A", [], "no answer (Timeout)", False),
        ("A", [], frozenset(), False),
        ("A", [], frozenset({"10.0.0.1"}), False),
        ("SRV", ["80 web."], frozenset({"0 100 80 web."}), True),
        ("SRV", ["80 web."], frozenset({"10 5 80 web."}), True),
        ("SRV", ["80 web."], frozenset({"0 100 81 web."}), False),
        ("SRV", ["80 web."], frozenset({"0 100 80 web.", "0 100 80 other."}), False),
    ],
)
def test_an_answer_is_as_expected_when_it_holds_these_records_and_no_other(
    kind: Kind, wanted: list[str], answer: Answer, right: bool
) -> None:
    expected = Expected(Question(WEST, "web.", kind), frozenset(wanted))
    assert is_as_expected(expected, answer) is right
