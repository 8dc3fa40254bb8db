"""A law of a virtual IP's traffic preference: whom a client reaches, wherever endpoints are and whichever are ready."""

from hypothesis import given
from hypothesis import strategies as st

from mcs.model.preference import TrafficPreference
from mcs.model.slices import Endpoint
from mcs.services.observed import Exporter, NodeZones
from mcs.testing.builders import WEB, at, endpoint, export, exporter, service, slice_
from mcs.testing.kube_proxy import used_endpoints
from mcs.testing.simulated_target import SimulatedTarget
from mcs.testing.worlds import CLUSTERS

ENDPOINTS = st.lists(
    st.builds(
        lambda ready, zone: endpoint("10.0.0.1", ready=ready, zone=zone, node="node"),
        st.sampled_from([True, False, None]),
        st.sampled_from([None, "z1", "z2", "z9"]),
    ),
    max_size=3,
)


@given(
    st.dictionaries(st.sampled_from(CLUSTERS), ENDPOINTS, min_size=1),
    st.sampled_from(["local", "remote", "zone", "none"]),
    st.sampled_from([None, "PreferClose", "PreferSameNode"]),
    st.sampled_from(["z1", "z2", ""]),
)
def test_a_client_uses_preferred_endpoints_while_any_is_ready_and_all_otherwise(
    held: dict[str, list[Endpoint]], preference: TrafficPreference, distribution: str | None, zone: str
) -> None:
    target = SimulatedTarget("c1", WEB)
    target.zones = NodeZones(("z1", "z2"), has_nodes_without=True)
    exported = [_exporter(cluster, held[cluster], preference, distribution) for cluster in held]
    target.rounds_to_rest(exported, CLUSTERS, at(100))

    endpoints = {
        id(each): (mirror.source_cluster, each)
        for mirror in target.mirrors
        for each in mirror.endpoints or ()
    }
    ready = {key for key, (_, each) in endpoints.items() if each.is_ready}
    preferred = {key for key in ready if _is_preferred(*endpoints[key], preference, zone)}
    used = used_endpoints((each for _, each in endpoints.values()), node="elsewhere", zone=zone)
    assert {id(each) for each in used} == (preferred if preferred and zone else ready)


def _exporter(
    cluster: str, endpoints: list[Endpoint], preference: TrafficPreference, distribution: str | None
) -> Exporter:
    slices = (slice_(f"web-{number}", each) for number, each in enumerate(endpoints))
    made = export(traffic=preference, created=CLUSTERS.index(cluster))
    return exporter(cluster, service(distribution=distribution), *slices, export_=made)


def _is_preferred(source: str, found: Endpoint, preference: TrafficPreference, zone: str) -> bool:
    match preference:
        case "local":
            return source == "c1"
        case "remote":
            return source != "c1"
        case "zone":
            return found.zone == zone
        case "none":
            return True
