"""Laws of a virtual IP's traffic preference: whom a client reaches, whatever the clusters export under the name."""

from hypothesis import given
from hypothesis import strategies as st

from mcs.model.preference import traffic_preference_of
from mcs.model.slices import IPV4, IPV6
from mcs.services.observed import Exporter, NodeZones
from mcs.testing.builders import WEB, at
from mcs.testing.kube_proxy import used_endpoints
from mcs.testing.simulated_target import SimulatedTarget
from mcs.testing.worlds import CLUSTERS, exporters


@given(exporters(), st.sampled_from(["z1", "z2", ""]))
def test_a_client_uses_preferred_endpoints_while_any_is_ready_and_all_otherwise(
    exported: tuple[Exporter, ...], zone: str
) -> None:
    target = SimulatedTarget("c1", WEB)
    target.zones = NodeZones(("z1", "z2"), has_nodes_without=True)
    target.rounds_to_rest(exported, CLUSTERS, at(100))
    if target.service_import is None or target.derived is None:
        return
    preference = traffic_preference_of(target.service_import.metadata.annotations)

    def is_preferred(source: str, endpoint_zone: str | None) -> bool:
        match preference:
            case "local":
                return source == "c1"
            case "remote":
                return source != "c1"
            case "zone":
                return endpoint_zone == zone
            case _:
                return True

    for family in (IPV4, IPV6):
        mirrors = [each for each in target.mirrors if each.address_type == family]
        source_of = {
            id(endpoint): each.source_cluster for each in mirrors for endpoint in each.endpoints or ()
        }
        endpoints = [endpoint for each in mirrors for endpoint in each.endpoints or ()]
        ready = [each for each in endpoints if each.is_ready]
        used = used_endpoints(endpoints, node="elsewhere", zone=zone)
        preferred = [each for each in ready if is_preferred(source_of[id(each)], each.zone)]
        if preference is not None:
            assert used == (preferred if preferred and zone else ready)
