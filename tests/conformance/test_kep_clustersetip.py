"""KEP-1645, clusterset IPs: who has them, how long, of which families, and what stands behind them."""

from dataclasses import replace
from typing import Any

import pytest

from mcs.model.actions import Apply
from mcs.model.multicluster import ServiceImport
from mcs.model.names import SLICE_SERVICE_LABEL
from mcs.model.services import Service
from mcs.model.slices import IPV6
from mcs.services.observed import Exporter
from mcs.services.plan import plan_export
from mcs.testing.builders import WEB, at, exporter, headless, observed_export, service, slice_
from mcs.testing.simulated_clusterset import CLUSTERS, SimulatedClusterset, exports
from mcs.testing.simulated_target import SimulatedTarget, import_of, ready_of, settled_target
from tests.conformance.small_clusterset import DUAL, SIX, settled

SIX_FIRST = ("IPv6", "IPv4")


def families_of_ips(found: ServiceImport) -> list[str]:
    return ["IPv6" if ":" in address else "IPv4" for address in found.spec.ips]


def derived_of(target: SimulatedTarget) -> Service:
    assert target.derived is not None
    return target.derived


@pytest.mark.spec("KEP-1645#clustersetip: has addresses", "MUST")
@pytest.mark.parametrize("families", [("IPv4",), SIX, DUAL, SIX_FIRST])
def test_an_import_has_an_address_of_each_of_its_families(families: tuple[str, ...]) -> None:
    world = settled(exports("c1", service(families=families)))
    assert [sorted(families_of_ips(found)) for found in world.imports] == [sorted(families)] * 3


@pytest.mark.spec("KEP-1645#clustersetip: stable", "MUST")
@pytest.mark.parametrize(
    "changed",
    [
        {"affinity_seconds": 10},
        {"internal": "Local"},
        {"distribution": "PreferClose"},
        {"families": DUAL},
        {"kind": "LoadBalancer"},
        {"labels": {"a": "1"}},
    ],
)
def test_addresses_stay_for_the_life_of_the_import(changed: dict[str, Any]) -> None:
    world = settled(exports("c1", service()))
    before = [found.spec.ips[0] for found in world.imports]
    for exported in (
        (exports("c1", service(WEB, "http 81", "dns 53/UDP", **changed)),),
        (exports("c1", service(**changed)), exports("c2", service())),
        (exports("c2", service()),),
    ):
        assert [found.spec.ips[0] for found in world.settle(*exported).imports] == before


@pytest.mark.spec("KEP-1645#clustersetip: all backends", "MUST")
def test_the_derived_service_routes_to_the_endpoints_of_all_exporters() -> None:
    world = settled(exports("c1", service()), exports("c2", service()), exports("c3", service()))
    for target in world.targets.values():
        derived = derived_of(target)
        assert derived.spec.cluster_ips == import_of(target).spec.ips
        routed = [
            m for m in target.mirrors if m.metadata.labels[SLICE_SERVICE_LABEL] == derived.metadata.name
        ]
        addresses = {each.addresses[0] for mirror in routed for each in mirror.endpoints or ()}
        assert addresses == {"10.1.0.5", "10.2.0.5", "10.3.0.5"}
        names = {port.name for mirror in routed for port in mirror.ports or ()}
        assert names == {port.name for port in derived.spec.ports}


@pytest.mark.spec("KEP-1645#clustersetip: headless has none", "MUST")
@pytest.mark.parametrize("before", [(), (exports("c1", service()),)])
def test_a_headless_import_has_neither_addresses_nor_a_derived_service(before: tuple[Exporter, ...]) -> None:
    world = settled(*before).settle(exports("c1", headless()))
    assert [found.spec.ips for found in world.imports] == [()] * 3
    assert [target.derived for target in world.targets.values()] == [None] * 3
    for target in world.targets.values():
        assert [m for m in target.mirrors if SLICE_SERVICE_LABEL in m.metadata.labels] == []


@pytest.mark.spec("KEP-1645#clustersetip: families correspond", "MUST")
@pytest.mark.parametrize("cluster", [("IPv4",), ("IPv4", "IPv6"), ("IPv6", "IPv4")])
@pytest.mark.parametrize("families", [("IPv4",), DUAL, SIX_FIRST])
def test_each_address_is_of_the_family_in_its_place(
    cluster: tuple[str, ...], families: tuple[str, ...]
) -> None:
    target = settled_target(exporter("c2", service(families=families)), families=cluster)
    found = import_of(target)
    assert families_of_ips(found) == list(found.spec.ip_families)
    assert set(found.spec.ip_families) == set(families) & set(cluster)


@pytest.mark.spec("KEP-1645#clustersetip: the same order", "SHOULD")
@pytest.mark.parametrize("cluster", [("IPv4", "IPv6"), ("IPv6", "IPv4")])
def test_addresses_and_families_are_in_the_order_of_the_derived_service(cluster: tuple[str, ...]) -> None:
    target = settled_target(exporter("c2", service(families=DUAL)), families=cluster)
    spec, derived = import_of(target).spec, derived_of(target).spec
    assert spec.ip_families == derived.ip_families == cluster
    assert spec.ips == derived.cluster_ips


@pytest.mark.spec("KEP-1645#clustersetip: written together", "MUST")
@pytest.mark.parametrize("families", [("IPv4",), SIX, DUAL])
def test_no_write_shows_addresses_without_their_families(families: tuple[str, ...]) -> None:
    target, written = SimulatedTarget("c1", WEB), []
    for exported in (service(), service(families=families), headless(), service(families=families)):
        for _ in range(4):
            actions = target.plan(exports("c2", exported))
            written += [each.object for each in actions if isinstance(each, Apply) and not each.subresource]
            target.carry_out(actions)
    imports = [each for each in written if isinstance(each, ServiceImport)]
    assert len(imports) >= 3
    assert [families_of_ips(each) for each in imports if each.spec.type == "ClusterSetIP"] == [
        list(each.spec.ip_families) for each in imports if each.spec.type == "ClusterSetIP"
    ]
    assert [each for each in imports if not each.spec.ip_families] == []


@pytest.mark.spec("KEP-1645#clustersetip: where families come from", "MAY")
def test_the_families_are_those_of_the_oldest_export() -> None:
    world = settled(exports("c2", service(families=SIX)), exports("c1", service()))
    assert [found.spec.ip_families for found in world.imports] == [("IPv4",)] * 3


@pytest.mark.spec("KEP-1645#clustersetip: where families come from", "MAY")
def test_the_families_of_a_headless_service_are_those_of_any_export_the_oldest_first() -> None:
    world = settled(exports("c1", headless(families=SIX)), exports("c2", headless()))
    assert [found.spec.ip_families for found in world.imports] == [SIX_FIRST] * 3
    world.settle(exports("c1", headless()), exports("c2", headless(families=SIX_FIRST)))
    assert [found.spec.ip_families for found in world.imports] == [DUAL] * 3


@pytest.mark.spec("KEP-1645#clustersetip: a headless family is no error", "MUST NOT")
@pytest.mark.parametrize("cluster", [("IPv4",), DUAL])
def test_a_headless_import_is_ready_whatever_families_the_services_of_the_cluster_have(
    cluster: tuple[str, ...],
) -> None:
    # It takes no address of the cluster, and which families its pods have no Service tells.
    target = SimulatedTarget("c1", WEB, cluster)
    target.known_families = frozenset({"IPv4"})
    six = slice_("web-1", "fd00:2::5", family=IPV6)
    target.rounds_to_rest([exporter("c2", headless(families=SIX), six)], CLUSTERS, at(100))
    assert (ready_of(target).status, import_of(target).spec.ip_families) == ("True", SIX)
    assert [each.address_type for each in target.mirrors] == ["IPv6"]
    assert target.events == []


@pytest.mark.spec("KEP-1645#clustersetip: a headless family is no error", "MUST NOT")
def test_a_service_that_becomes_headless_is_ready_although_its_address_was_refused() -> None:
    target = SimulatedTarget("c1", WEB, ("IPv4",))
    target.known_families = frozenset({"IPv4"})
    target.rounds_to_rest([exporter("c2", service(families=SIX))], CLUSTERS, at(100))
    assert ready_of(target).reason == "IPFamilyNotSupported"
    target.rounds_to_rest([exporter("c2", headless(families=SIX))], CLUSTERS, at(200))
    assert (ready_of(target).reason, import_of(target).spec.type) == ("Ready", "Headless")


def in_clusters(families: dict[str, tuple[str, ...]]) -> SimulatedClusterset:
    """A clusterset in which some clusters have other families than both."""
    world = SimulatedClusterset()
    for cluster, each in families.items():
        world.targets[cluster].families = each
    return world


@pytest.mark.spec("KEP-1645#clustersetip: families that reach a part", "MUST")
@pytest.mark.parametrize(
    ("older", "newer", "is_conflict"),
    [
        (DUAL, DUAL, False),
        (DUAL, SIX_FIRST, False),
        # The import has an address of IPv6 as well, and that one leads to c1 only.
        (DUAL, ("IPv4",), True),
        # The import has an address of IPv4 only, which leads to both: that c2 has IPv6 too is no loss to anybody.
        (("IPv4",), DUAL, False),
        (("IPv4",), SIX, True),
        (SIX, DUAL, False),
    ],
)
def test_families_are_a_conflict_where_one_that_is_published_reaches_some_clusters_only(
    older: tuple[str, ...], newer: tuple[str, ...], is_conflict: bool
) -> None:
    world = settled(exports("c2", service(families=newer)), exports("c1", service(families=older)))
    reason = "IPFamilyConflict" if is_conflict else "NoConflicts"
    assert world.reasons("Conflict") == {"c1": reason, "c2": reason}


@pytest.mark.spec("KEP-1645#clustersetip: families that reach a part", "MUST")
@pytest.mark.parametrize("newer", [("IPv4",), SIX, DUAL])
def test_which_of_two_headless_exports_is_older_does_not_matter_for_their_families(
    newer: tuple[str, ...],
) -> None:
    # The import has the families of both, so each address that only one of them has reaches only that one.
    reasons = [
        settled(exports("c1", headless(families=one)), exports("c2", headless(families=two))).reasons(
            "Conflict"
        )
        for one, two in ((("IPv4",), newer), (newer, ("IPv4",)))
    ]
    assert reasons[0] == reasons[1]
    assert set(reasons[0].values()) == {"NoConflicts" if newer == ("IPv4",) else "IPFamilyConflict"}


@pytest.mark.spec("KEP-1645#clustersetip: families that reach a part", "MUST")
def test_a_cluster_of_one_family_is_told_of_the_conflict_too() -> None:
    world = in_clusters({"c2": ("IPv4",)})
    world.settle(exports("c1", service(families=DUAL)), exports("c2", service()))
    assert world.reasons("Conflict") == {"c1": "IPFamilyConflict", "c2": "IPFamilyConflict"}


@pytest.mark.spec("KEP-1645#clustersetip: families that reach a part", "MUST")
def test_an_export_that_gives_up_a_family_is_not_in_conflict_with_what_its_import_still_has() -> None:
    own_import = settled(exports("c1", service(families=DUAL))).targets["c1"].service_import
    observed = observed_export(exports("c1", service()))
    (told, *_) = plan_export(replace(observed, own_import=own_import))
    assert isinstance(told, Apply)
    (conflict,) = [each for each in told.object.status.conditions if each.type == "Conflict"]  # type: ignore[attr-defined]
    assert conflict.reason == "NoConflicts"
