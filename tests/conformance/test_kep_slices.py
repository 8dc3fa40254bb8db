"""KEP-1645, EndpointSlices: where they are, what they hold, how they are marked, and when they go."""

import pytest

from mcs.model.names import (
    SERVICE_NAME_LABEL,
    SLICE_MANAGED_BY_LABEL,
    SLICE_SERVICE_LABEL,
    SOURCE_CLUSTER_LABEL,
    ClusterId,
    ServiceKey,
    derived_service_name,
    mirror_name,
)
from mcs.model.services import Service
from mcs.model.slices import IPV4, IPV6
from mcs.testing.builders import WEB, endpoint, export, exporter, headless, service, slice_
from mcs.testing.simulated_clusterset import CLUSTERS, exports
from tests.conformance.small_clusterset import DUAL, settled

KINDS = [service(), headless()]


@pytest.mark.spec("KEP-1645#using-endpointslice-objects-to-track-endpoints: in every cluster", "MUST")
@pytest.mark.parametrize("exported", KINDS)
def test_every_cluster_has_the_slices_in_the_namespace_of_the_service(exported: Service) -> None:
    world = settled(exports("c2", exported))
    found = [world.mirrors("c2", cluster) for cluster in CLUSTERS]
    assert [[mirror.metadata.namespace for mirror in each] for each in found] == [["demo"]] * 3


@pytest.mark.spec("KEP-1645#using-endpointslice-objects-to-track-endpoints: one cluster each", "MUST")
@pytest.mark.parametrize("exported", KINDS)
def test_each_slice_has_endpoints_of_one_cluster_and_says_which(exported: Service) -> None:
    world = settled(exports("c1", exported), exports("c2", exported))
    for target in world.targets.values():
        found = {each.source_cluster: each.endpoints for each in target.mirrors}
        assert {c: [e.addresses for e in each or ()] for c, each in found.items()} == {
            "c1": [("10.1.0.5",)],
            "c2": [("10.2.0.5",)],
        }


@pytest.mark.spec("KEP-1645#using-endpointslice-objects-to-track-endpoints: the service's name", "MUST")
@pytest.mark.parametrize("exported", KINDS)
def test_a_slice_is_labelled_with_the_name_of_the_import(exported: Service) -> None:
    (mirror,) = settled(exports("c2", exported)).mirrors("c2")
    assert mirror.metadata.labels[SERVICE_NAME_LABEL] == "web"


@pytest.mark.spec("KEP-1645#using-endpointslice-objects-to-track-endpoints: the source cluster", "MUST")
@pytest.mark.parametrize("exported", KINDS)
def test_a_slice_is_labelled_with_its_source_cluster(exported: Service) -> None:
    world = settled(exports("c1", exported), exports("c2", exported))
    labels = [
        sorted(m.metadata.labels[SOURCE_CLUSTER_LABEL] for m in t.mirrors) for t in world.targets.values()
    ]
    assert labels == [["c1", "c2"]] * 3


@pytest.mark.spec("KEP-1645#using-endpointslice-objects-to-track-endpoints: managed by us", "MUST")
@pytest.mark.parametrize("exported", KINDS)
def test_a_slice_says_that_kubernetes_own_controller_does_not_manage_it(exported: Service) -> None:
    (mirror,) = settled(exports("c2", exported)).mirrors("c2")
    assert mirror.metadata.labels[SLICE_MANAGED_BY_LABEL] == "mcs-controller"


@pytest.mark.spec("KEP-1645#using-endpointslice-objects-to-track-endpoints: names do not clash", "MUST NOT")
def test_slices_of_different_sources_have_different_names() -> None:
    names = {
        mirror_name(ClusterId(cluster), key, source, family)
        for cluster in ("c1", "c2", "c1.fleet")
        for key in (WEB, ServiceKey("demo", "other"), ServiceKey("other", "web"))
        for source in ("web-1", "web-2")
        for family in (IPV4, IPV6)
    }
    assert len(names) == 36
    assert "web-1" not in names


@pytest.mark.spec("KEP-1645#using-endpointslice-objects-to-track-endpoints: families and hostnames", "MUST")
def test_hostname_zone_and_conditions_are_carried() -> None:
    source = endpoint("10.2.0.5", ready=False, serving=True, terminating=True, hostname="web-0", zone="z")
    (mirror,) = settled(exporter("c2", headless(), slice_("web-1", source))).mirrors("c2")
    (found,) = mirror.endpoints or ()
    assert (found.hostname, found.zone, found.conditions) == ("web-0", "z", source.conditions)


@pytest.mark.spec("KEP-1645#using-endpointslice-objects-to-track-endpoints: families and hostnames", "MUST")
@pytest.mark.parametrize("exported", [service(families=DUAL), headless(families=DUAL)])
def test_each_family_has_a_slice_of_its_own(exported: Service) -> None:
    six = slice_("web-2", "fd00:2::5", family=IPV6)
    world = settled(exporter("c2", exported, slice_("web-1", "10.2.0.5"), six))
    held = {each.address_type: [e.addresses[0] for e in each.endpoints or ()] for each in world.mirrors("c2")}
    assert held == {"IPv4": ["10.2.0.5"], "IPv6": ["fd00:2::5"]}


@pytest.mark.spec("KEP-1645#using-endpointslice-objects-to-track-endpoints: gone with the export", "MUST")
@pytest.mark.parametrize("exported", KINDS)
def test_slices_go_with_the_export_and_with_their_source(exported: Service) -> None:
    world = settled(exports("c1", exported), exports("c2", exported)).settle(exports("c1", exported))
    assert [world.mirrors("c2", cluster) for cluster in CLUSTERS] == [[]] * 3
    assert [len(world.mirrors("c1", cluster)) for cluster in CLUSTERS] == [1] * 3
    world.settle(exporter("c1", exported))
    assert [world.mirrors("c1", cluster) for cluster in CLUSTERS] == [[]] * 3


@pytest.mark.spec(
    "KEP-1645#using-endpointslice-objects-to-track-endpoints: the local Service is left alone", "MUST NOT"
)
@pytest.mark.parametrize(("exported", "owner"), [(service(), derived_service_name(WEB)), (headless(), None)])
def test_no_slice_belongs_to_the_local_service_of_that_name(exported: Service, owner: str | None) -> None:
    world = settled(exports("c1", exported), exports("c2", exported))
    mirrors = [mirror for target in world.targets.values() for mirror in target.mirrors]
    assert {mirror.metadata.labels.get(SLICE_SERVICE_LABEL) for mirror in mirrors} == {owner}
    assert derived_service_name(WEB) != "web"


@pytest.mark.spec("KEP-1645#using-endpointslice-objects-to-track-endpoints: never exported back", "MUST NOT")
def test_imported_slices_are_not_exported_again() -> None:
    imported = settled(exports("c2", service())).mirrors("c2", "c1")
    world = settled(exporter("c1", service(), slice_("web-1", "10.1.0.5"), *imported))
    held = [e.addresses[0] for mirror in world.targets["c3"].mirrors for e in mirror.endpoints or ()]
    assert held == ["10.1.0.5"]


@pytest.mark.spec("KEP-1645#using-endpointslice-objects-to-track-endpoints: never exported back", "MUST NOT")
def test_a_derived_service_is_not_exported() -> None:
    derived = settled(exports("c2", service())).targets["c1"].derived
    assert derived is not None
    own = exporter("c1", derived, export_=export(derived.key))
    world = settled(own, key=derived.key)
    assert (world.imports, world.reasons("Valid")) == ([], {"c1": "ImportedService"})
