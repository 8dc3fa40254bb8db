"""What `mcs status` shows of the answers of clusters."""

from __future__ import annotations

import pytest
from msgspec import structs

from mcs.cli.tables import ClusterView, Table, status_tables
from mcs.model.meta import Condition, ConditionStatus, ObjectMeta
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
from mcs.model.names import ClusterId


def _condition(type_: str, status: ConditionStatus, reason: str = "Why", message: str = "m") -> Condition:
    return Condition(type=type_, status=status, reason=reason, message=message, last_transition_time="")


def _export(name: str, *conditions: Condition) -> ServiceExport:
    return ServiceExport(
        metadata=ObjectMeta(namespace="shop", name=name), status=ServiceExportStatus(conditions=conditions)
    )


def _import(
    name: str, *ips: str, type_: ImportType = "ClusterSetIP", sources: tuple[str, ...] = ("east",)
) -> ServiceImport:
    return ServiceImport(
        metadata=ObjectMeta(namespace="shop", name=name),
        spec=ServiceImportSpec(
            type=type_,
            ports=(ImportPort(port=80, protocol="TCP"), ImportPort(port=53, protocol="UDP")),
            ips=ips,
        ),
        status=ServiceImportStatus(clusters=tuple(ImportCluster(cluster=each) for each in sources)),
    )


def _view(
    cluster: str, exports: tuple[ServiceExport, ...] = (), imports: tuple[ServiceImport, ...] = ()
) -> ClusterView:
    return ClusterView(cluster=ClusterId(cluster), version="v1.34.1", exports=exports, imports=imports)


def _tables(*views: ClusterView) -> dict[str, Table]:
    return {table.title: table for table in status_tables(views)}


GOOD = (_condition("Valid", "True"), _condition("Ready", "True"), _condition("Conflict", "False"))


def test_every_row_has_a_cell_for_each_heading() -> None:
    view = _view("east", (_export("web", _condition("Conflict", "True")),), (_import("web", "10.0.0.1"),))
    for table in status_tables((view,)):
        assert table.rows
        assert {len(row) for row in table.rows} == {len(table.headings)}


def test_a_cluster_that_was_not_read_shows_no_counts() -> None:
    gone = ClusterView(cluster=ClusterId("west"), state="unreachable", problem="network: refused")
    assert _tables(_view("east", (_export("web", *GOOD),)), gone)["Clusters"].rows == (
        ("east", "v1.34.1", "1", "0", "reachable"),
        ("west", "-", "-", "-", "unreachable"),
    )


def test_exports_are_sorted_by_service_then_by_cluster() -> None:
    tables = _tables(_view("west", (_export("web", *GOOD),)), _view("east", (_export("web"), _export("api"))))
    assert tables["Exports"].rows == (
        ("shop/api", "east", "-", "-", "-"),
        ("shop/web", "east", "-", "-", "-"),
        ("shop/web", "west", "True", "True", "False"),
    )


def test_imports_show_the_addresses_of_each_cluster() -> None:
    tables = _tables(
        _view("west", imports=(_import("web", "10.98.0.1", "fd00::1", sources=("west", "east")),)),
        _view("east", imports=(_import("web"), _import("db", type_="Headless"))),
    )
    assert tables["Imports"].rows == (
        ("shop/db", "east", "Headless", "80/TCP, 53/UDP", "east", "-"),
        ("shop/web", "east", "ClusterSetIP", "80/TCP, 53/UDP", "east", "waiting for one"),
        ("shop/web", "west", "ClusterSetIP", "80/TCP, 53/UDP", "east, west", "10.98.0.1, fd00::1"),
    )


def test_what_is_wrong_with_an_export_is_told_once_with_its_message() -> None:
    refused = _export(
        "old", _condition("Valid", "False", "NoService", "There is\nnone."), _condition("Ready", "False")
    )
    conflicting = _export("web", *GOOD[:2], _condition("Conflict", "True", "PortConflict", "Ports differ."))
    waiting = _export("api", GOOD[0], _condition("Ready", "False", "Pending", "Soon."), GOOD[2])
    assert _tables(_view("east", (refused, conflicting, waiting)))["Problems"].rows == (
        ("shop/api", "export", "east", "Ready False, Pending: Soon."),
        ("shop/old", "export", "east", "Valid False, NoService: There is none."),
        ("shop/web", "export", "east", "Conflict True, PortConflict: Ports differ."),
    )


def test_what_clusters_tell_in_the_same_words_is_one_row() -> None:
    def conflicting(message: str) -> ServiceExport:
        return _export("web", *GOOD[:2], _condition("Conflict", "True", "PortConflict", message))

    views = (
        _view("west", (conflicting("a"),)),
        _view("east", (conflicting("a"),)),
        _view("south", (conflicting("b"),)),
    )
    assert _tables(*views)["Problems"].rows == (
        ("shop/web", "export", "east, west", "Conflict True, PortConflict: a"),
        ("shop/web", "export", "south", "Conflict True, PortConflict: b"),
    )


@pytest.mark.parametrize(
    ("conditions", "told"),
    [
        ((), []),
        ((_condition("Ready", "True"),), []),
        ((_condition("Ready", "False"),), ["Ready False, Why: m"]),
        ((_condition("Ready", "Unknown"),), ["Ready Unknown, Why: m"]),
        (
            (_condition("Ready", "True"), _condition("TrafficDistributionSupported", "False")),
            ["TrafficDistributionSupported False, Why: m"],
        ),
        (
            (_condition("Ready", "True"), _condition("TrafficPreferenceHeeded", "False")),
            ["TrafficPreferenceHeeded False, Why: m"],
        ),
        (
            (_condition("Ready", "True"), _condition("EndpointsWithdrawn", "True")),
            ["EndpointsWithdrawn True, Why: m"],
        ),
        (
            (_condition("Ready", "True"), _condition("EndpointsWithdrawn", "False")),
            ["EndpointsWithdrawn False, Why: m"],
        ),
        # What a condition of others means, and which of its values is the good one, is not known.
        ((_condition("Ready", "True"), _condition("example.com/Draining", "False")), []),
    ],
)
def test_what_is_wrong_with_an_import_is_told_of_the_clusters_that_have_it(
    conditions: tuple[Condition, ...], told: list[str]
) -> None:
    imported = structs.replace(_import("web"), status=ServiceImportStatus(conditions=conditions))
    tables = _tables(_view("east", imports=(imported,)))
    rows = tables["Problems"].rows if "Problems" in tables else ()
    assert rows == tuple(("shop/web", "import", "east", what) for what in told)


def test_pod_ranges_that_overlap_are_a_problem_of_both_clusters() -> None:
    views = (
        structs.replace(_view("west"), pod_ranges=("10.1.0.0/24",)),
        structs.replace(_view("east"), pod_ranges=("10.0.0.0/8", "11.0.0.0/8")),
        structs.replace(_view("south"), pod_ranges=("12.0.0.0/8",)),
    )
    assert _tables(*views)["Problems"].rows == (
        (
            "-",
            "pod ranges",
            "east, west",
            "10.0.0.0/8 overlaps 10.1.0.0/24; give each cluster pod ranges of its own",
        ),
    )


def test_where_all_is_well_there_is_no_table_of_problems() -> None:
    tables = _tables(_view("east", (_export("web", *GOOD),)))
    assert list(tables) == ["Clusters", "Exports", "Imports"]
    assert tables["Imports"].rows == ()
