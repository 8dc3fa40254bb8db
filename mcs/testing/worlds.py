"""Hypothesis strategies for what a clusterset may export under one name: ordinary and odd Services, slices, ages.

The addresses of a cluster's endpoints tell the cluster: those of c2 begin with 10.2. or fd00:2:.
"""

from hypothesis import strategies as st

from mcs.model.services import Service
from mcs.model.slices import IPV4, IPV6, AddressType, EndpointSlice
from mcs.services.observed import Exporter
from mcs.testing.builders import WEB, endpoint, export, exporter, service, slice_, slice_port

CLUSTERS = ("c1", "c2", "c3")

_FAMILIES = st.sampled_from([("IPv4",), ("IPv6",), ("IPv4", "IPv6"), ("IPv6", "IPv4")])
_NAMES = st.sampled_from(["", "http", "web", "dns"])
_PORTS = st.lists(
    st.tuples(_NAMES, st.sampled_from([53, 80, 8080]), st.sampled_from(["TCP", "UDP"])),
    min_size=1,
    max_size=3,
    unique_by=(lambda each: each[0], lambda each: each[1:]),
).filter(lambda ports: len(ports) == 1 or all(name for name, _, _ in ports))
_TRAFFIC = st.sampled_from([None, None, "local", "remote", "zone", "none", "near"])
_METADATA = st.dictionaries(st.sampled_from(["a", "b", "bad key!"]), st.sampled_from(["1", "2"]), max_size=2)


@st.composite
def services(draw: st.DrawFn) -> Service:
    """A Service that an API server could hold; about one in five cannot be exported."""
    return service(
        WEB,
        *(f"{name} {number}/{protocol}".strip() for name, number, protocol in draw(_PORTS)),
        kind=draw(st.sampled_from(["ClusterIP"] * 5 + ["NodePort", "LoadBalancer", "ExternalName"])),
        is_headless=draw(st.booleans()),
        families=draw(_FAMILIES),
        affinity_seconds=draw(st.sampled_from([None, 10, 20])),
        internal=draw(st.sampled_from(["Cluster", "Local", None])),
        distribution=draw(st.sampled_from([None, "PreferClose", "PreferSameNode"])),
        terminating=draw(st.sampled_from([False] * 9 + [True])),
    )


@st.composite
def source_slices(draw: st.DrawFn, cluster: str, number: int, exported: Service | None) -> EndpointSlice:
    """The cluster's slice of that number, of any family, mostly with the ports of the Service.

    Some addresses may not be published.
    """
    family = draw(st.sampled_from([IPV4] * 3 + [IPV6] * 3 + [AddressType("FQDN")]))
    own = f"10.{cluster[1:]}.{number}." if family == IPV4 else f"fd00:{cluster[1:]}:{number}::"
    addresses = st.integers(1, 9).map(lambda host: f"{own}{host}") | st.sampled_from(
        ["127.0.0.1", "::1", "x"]
    )
    endpoints = draw(
        st.lists(
            st.builds(
                lambda address, ready, hostname, zone: endpoint(
                    address, ready=ready, hostname=hostname, node="node", zone=zone
                ),
                addresses,
                st.sampled_from([True, False, None]),
                st.sampled_from([None, "web-0", "Not.A.Label"]),
                st.sampled_from([None, "z1", "z2"]),
            ),
            min_size=(count := draw(st.integers(0, 3))),
            max_size=count,
        )
    )
    names = {each.name for each in exported.spec.ports} if exported else set()
    if draw(st.sampled_from([False] * 4 + [True])):
        names = draw(st.sets(_NAMES, max_size=2))
    ports = tuple(slice_port(f"{name} 8080".strip()) for name in sorted(names))
    return slice_(f"web-{number}", *endpoints, ports=ports, family=family)


@st.composite
def exporters(draw: st.DrawFn) -> tuple[Exporter, ...]:
    """Up to three clusters that export web, in any order; equal ages happen."""
    clusters = draw(st.permutations(CLUSTERS))[: draw(st.integers(0, len(CLUSTERS)))]
    return tuple(draw(_exporters_in(cluster)) for cluster in clusters)


@st.composite
def _exporters_in(draw: st.DrawFn, cluster: str) -> Exporter:
    rarely = st.sampled_from([False] * 9 + [True])
    exported = None if draw(rarely) else draw(services())
    return exporter(
        cluster,
        exported,
        *(draw(source_slices(cluster, number, exported)) for number in range(draw(st.integers(0, 2)))),
        export_=export(
            created=draw(st.integers(0, 2)),
            labels=draw(_METADATA),
            annotations=draw(_METADATA),
            terminating=draw(rarely),
            traffic=draw(_TRAFFIC),
        ),
    )
