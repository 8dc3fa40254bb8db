"""Each row was first asked of a Kubernetes 1.34 API server; only the addresses differ."""

from ipaddress import ip_network
from typing import Any

import pytest

from mcs.sandbox.errors import StatusError
from mcs.sandbox.resources import PODS, SERVICES
from mcs.sandbox.rules.addresses import AddressPool, Network, ServiceAddresses
from mcs.sandbox.store import Object

DUAL: tuple[Network, ...] = (ip_network("10.96.0.0/16"), ip_network("fd00:10:96::/112"))
SINGLE: tuple[Network, ...] = (ip_network("10.98.0.0/16"),)
PORTS = [{"port": 80, "protocol": "TCP"}]
V4, V6 = "IPv4", "IPv6"


class Cluster:
    """What the admission step sees of a cluster: the Services that were stored."""

    def __init__(self, ranges: tuple[Network, ...]) -> None:
        self.stored: dict[str, Object] = {}
        self.admit = ServiceAddresses(ranges, lambda: self.stored.values())

    def put(self, name: str, spec: dict[str, Any], *, dry_run: bool = False) -> dict[str, Any]:
        old = self.stored.get(name)
        new = {"metadata": {"name": name, "uid": name}, "spec": {"type": "ClusterIP", **spec}}
        done = self.admit("CREATE" if old is None else "UPDATE", SERVICES, old, new)
        assert done is not None
        if not dry_run:
            self.stored[name] = done
        spec_of: dict[str, Any] = done["spec"]
        return spec_of

    def change(self, name: str, **changes: Any) -> dict[str, Any]:
        merged = {**self.stored[name]["spec"], **changes}
        return self.put(name, {key: value for key, value in merged.items() if value is not None})


def shape(spec: dict[str, Any]) -> tuple[list[str], list[str], str]:
    """Families of the addresses, ipFamilies and the policy."""
    addresses = spec.get("clusterIPs", [])
    assert addresses[:1] == [spec["clusterIP"]]
    kinds = [address if address == "None" else V6 if ":" in address else V4 for address in addresses]
    return kinds, spec["ipFamilies"], spec["ipFamilyPolicy"]


GIVEN = [
    ("nothing asked for", DUAL, {}, ([V4], [V4], "SingleStack")),
    (
        "dual stack preferred",
        DUAL,
        {"ipFamilyPolicy": "PreferDualStack"},
        ([V4, V6], [V4, V6], "PreferDualStack"),
    ),
    (
        "dual stack required",
        DUAL,
        {"ipFamilyPolicy": "RequireDualStack"},
        ([V4, V6], [V4, V6], "RequireDualStack"),
    ),
    ("the other family", DUAL, {"ipFamilies": [V6]}, ([V6], [V6], "SingleStack")),
    (
        "both, the other one first",
        DUAL,
        {"ipFamilies": [V6, V4], "ipFamilyPolicy": "PreferDualStack"},
        ([V6, V4], [V6, V4], "PreferDualStack"),
    ),
    ("headless without a selector", DUAL, {"clusterIP": "None"}, (["None"], [V4, V6], "RequireDualStack")),
    (
        "headless with a selector",
        DUAL,
        {"clusterIP": "None", "selector": {"a": "b"}},
        (["None"], [V4], "SingleStack"),
    ),
    (
        "headless, dual stack preferred",
        DUAL,
        {"clusterIP": "None", "selector": {"a": "b"}, "ipFamilyPolicy": "PreferDualStack"},
        (["None"], [V4, V6], "PreferDualStack"),
    ),
    ("an address by name", DUAL, {"clusterIP": "10.96.5.5"}, ([V4], [V4], "SingleStack")),
    ("an address tells the family", DUAL, {"clusterIP": "fd00:10:96::55"}, ([V6], [V6], "SingleStack")),
    (
        "two addresses by name",
        DUAL,
        {
            "clusterIP": "10.96.5.7",
            "clusterIPs": ["10.96.5.7", "fd00:10:96::77"],
            "ipFamilyPolicy": "PreferDualStack",
        },
        ([V4, V6], [V4, V6], "PreferDualStack"),
    ),
    (
        "preferred where only one is",
        SINGLE,
        {"ipFamilyPolicy": "PreferDualStack"},
        ([V4], [V4], "PreferDualStack"),
    ),
    (
        "headless without a selector where only one family is",
        SINGLE,
        {"clusterIP": "None"},
        (["None"], [V4, V6], "RequireDualStack"),
    ),
]


@pytest.mark.parametrize(
    ("ranges", "spec", "expected"), [row[1:] for row in GIVEN], ids=[row[0] for row in GIVEN]
)
def test_families_and_addresses_of_a_new_service(
    ranges: tuple[Network, ...], spec: dict[str, Any], expected: tuple[list[str], list[str], str]
) -> None:
    assert shape(Cluster(ranges).put("web", {"ports": PORTS, **spec})) == expected


SPEC = 'Service "web" is invalid: spec.'
BAD_POLICY = (
    SPEC + "ipFamilyPolicy: Invalid value: \"SingleStack\": must be 'RequireDualStack' or 'PreferDualStack'"
)
REFUSED = [
    (DUAL, {"ipFamilies": [V6, V4]}, BAD_POLICY + " when multiple IP families are specified"),
    (
        DUAL,
        {"clusterIP": "10.96.5.7", "clusterIPs": ["10.96.5.7", "fd00:10:96::77"]},
        BAD_POLICY + " when multiple cluster IPs are specified",
    ),
    (
        DUAL,
        {"clusterIP": "10.96.7.7"},
        SPEC + 'clusterIPs: Invalid value: ["10.96.7.7"]: failed to allocate IP 10.96.7.7: '
        "provided IP is already allocated",
    ),
    (
        DUAL,
        {"clusterIP": "10.99.5.5"},
        SPEC + 'clusterIPs: Invalid value: ["10.99.5.5"]: failed to allocate IP 10.99.5.5: '
        "the provided network does not match the current range",
    ),
    (
        DUAL,
        {"clusterIP": "10.96.255.255"},
        SPEC + 'clusterIPs: Invalid value: ["10.96.255.255"]: failed to allocate IP 10.96.255.255: '
        "the provided network does not match the current range",
    ),
    (
        DUAL,
        {"clusterIPs": ["10.96.5.6"]},
        SPEC + 'clusterIPs: Invalid value: ["10.96.5.6"]: must be empty when `clusterIP` is not specified',
    ),
    (
        DUAL,
        {"clusterIP": "10.96.5.7", "clusterIPs": ["10.96.5.8"]},
        SPEC + 'clusterIPs: Invalid value: ["10.96.5.8"]: first value must match `clusterIP`',
    ),
    (
        DUAL,
        {"clusterIP": "bogus"},
        SPEC + 'clusterIPs[0]: Invalid value: "bogus": must be a valid IP address, '
        "(e.g. 10.9.8.7 or 2001:db8::ffff)",
    ),
    (DUAL, {"ipFamilies": [V4, V4]}, SPEC + 'ipFamilies[1]: Duplicate value: "IPv4"'),
    (
        DUAL,
        {"ipFamilies": ["IPv5"]},
        SPEC + 'ipFamilies[0]: Unsupported value: "IPv5": supported values: "IPv4", "IPv6"',
    ),
    (
        DUAL,
        {"ipFamilyPolicy": "Foo"},
        SPEC + 'ipFamilyPolicy: Unsupported value: "Foo": supported values: '
        '"PreferDualStack", "RequireDualStack", "SingleStack"',
    ),
    (
        DUAL,
        {"ipFamilies": [V4], "clusterIP": "fd00:10:96::56"},
        SPEC + 'clusterIPs[0]: Invalid value: "fd00:10:96::56": '
        "expected an IPv4 value as indicated by `ipFamilies[0]`",
    ),
    (
        DUAL,
        {"type": "NodePort", "clusterIP": "None"},
        SPEC + "clusterIPs[0]: Invalid value: \"None\": may not be set to 'None' for NodePort services",
    ),
    (
        DUAL,
        {"type": "ExternalName", "externalName": "a.example", "clusterIP": "10.96.7.8"},
        SPEC + "clusterIPs: Forbidden: may not be set for ExternalName services",
    ),
    (
        DUAL,
        {"type": "ExternalName", "ipFamilies": [V4], "ipFamilyPolicy": "SingleStack"},
        'Service "web" is invalid: [spec.ipFamilies: Forbidden: may not be set for ExternalName services, '
        "spec.ipFamilyPolicy: Forbidden: may not be set for ExternalName services]",
    ),
    (
        DUAL,
        {"type": "NodePort", "ports": [{"port": 80, "nodePort": 30777}]},
        SPEC + "ports[0].nodePort: Invalid value: 30777: provided port is already allocated",
    ),
    (
        DUAL,
        {"type": "NodePort", "ports": [{"port": 80, "nodePort": 80}]},
        SPEC + "ports[0].nodePort: Invalid value: 80: provided port is not in the valid range. "
        "The range of valid ports is 30000-32767",
    ),
    (
        DUAL,
        {"ports": [{"port": 80, "nodePort": 30099}]},
        SPEC + "ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'",
    ),
    (
        SINGLE,
        {"ipFamilyPolicy": "RequireDualStack"},
        SPEC + 'ipFamilyPolicy: Invalid value: "RequireDualStack": '
        "this cluster is not configured for dual-stack services",
    ),
    (
        SINGLE,
        {"ipFamilies": [V6]},
        SPEC + 'ipFamilies[0]: Invalid value: "IPv6": not configured on this cluster',
    ),
    (
        SINGLE,
        {"clusterIP": "fd00:10:96::55"},
        SPEC + 'clusterIPs[0]: Invalid value: ["fd00:10:96::55"]: IPv6 is not configured on this cluster',
    ),
]


@pytest.mark.parametrize(("ranges", "spec", "message"), REFUSED)
def test_a_service_that_cannot_have_what_it_asks_for(
    ranges: tuple[Network, ...], spec: dict[str, Any], message: str
) -> None:
    cluster = Cluster(ranges)
    held = {"type": "NodePort", "ports": [{"port": 80, "nodePort": 30777}]}
    if ranges == DUAL:
        cluster.put("holder", {**held, "clusterIP": "10.96.7.7"})
    with pytest.raises(StatusError) as refused:
        cluster.put("web", {"ports": PORTS, **spec})
    assert (refused.value.code, refused.value.reason, refused.value.message) == (422, "Invalid", message)


def test_a_cluster_ip_cannot_be_changed_but_may_be_left_out() -> None:
    cluster = Cluster(DUAL)
    first = cluster.put("web", {"ports": PORTS})
    again = cluster.put("web", {"ports": PORTS})
    assert again == first
    for wanted in ("10.96.9.9", "None"):
        with pytest.raises(StatusError, match="may not change once set"):
            cluster.change("web", clusterIP=wanted)


def test_going_to_dual_stack_and_back_keeps_the_first_address() -> None:
    cluster = Cluster(DUAL)
    first = cluster.put("web", {"ports": PORTS})["clusterIP"]
    both = cluster.change("web", ipFamilyPolicy="PreferDualStack")
    assert shape(both) == ([V4, V6], [V4, V6], "PreferDualStack")
    assert both["clusterIP"] == first
    with pytest.raises(StatusError, match="must be 'SingleStack' to release the secondary IP family"):
        cluster.change("web", ipFamilies=[V4])
    single = cluster.change("web", ipFamilyPolicy="SingleStack")
    assert (single["clusterIPs"], single["ipFamilies"]) == ([first], [V4])


def test_the_order_of_families_cannot_be_turned_round() -> None:
    cluster = Cluster(DUAL)
    cluster.put("web", {"ports": PORTS, "ipFamilyPolicy": "PreferDualStack"})
    with pytest.raises(StatusError, match=r"expected an IPv6 value as indicated by `ipFamilies\[0\]`"):
        cluster.change("web", ipFamilies=[V6, V4])


def test_external_name_gives_the_addresses_back_and_the_way_home_gets_new_ones() -> None:
    cluster = Cluster(DUAL)
    cluster.put("web", {"ports": PORTS, "clusterIP": "10.96.5.5"})
    external = cluster.change("web", type="ExternalName", externalName="a.example")
    assert not {"clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"} & external.keys()
    cluster.put("other", {"ports": PORTS, "clusterIP": "10.96.5.5"})
    assert shape(cluster.change("web", type="ClusterIP", externalName=None)) == ([V4], [V4], "SingleStack")


def test_a_deleted_service_releases_its_address_and_a_dry_run_takes_none() -> None:
    cluster = Cluster(DUAL)
    cluster.put("web", {"ports": PORTS, "clusterIP": "10.96.5.5"}, dry_run=True)
    cluster.put("web", {"ports": PORTS, "clusterIP": "10.96.5.5"})
    del cluster.stored["web"]
    assert cluster.put("web2", {"ports": PORTS, "clusterIP": "10.96.5.5"})["clusterIPs"] == ["10.96.5.5"]


def test_addresses_are_unique_in_order_and_not_reused_at_once() -> None:
    cluster = Cluster(DUAL)
    found = [cluster.put(f"s{n}", {"ports": PORTS})["clusterIP"] for n in range(3)]
    assert found == ["10.96.1.1", "10.96.1.2", "10.96.1.3"]
    del cluster.stored["s0"]
    assert cluster.put("s0", {"ports": PORTS})["clusterIP"] == "10.96.1.4"


def test_a_small_range_is_used_up_and_then_empty() -> None:
    pool = AddressPool(ip_network("10.0.0.0/29"))
    taken: set[str] = set()
    while (address := pool.free_address(taken.__contains__)) is not None:
        taken.add(address)
    assert taken == {f"10.0.0.{n}" for n in range(1, 7)}


def node_ports(spec: dict[str, Any]) -> list[int | None]:
    return [port.get("nodePort") for port in spec["ports"]]


def test_two_protocols_of_one_port_share_a_node_port() -> None:
    both = [{"name": "a", "port": 53, "protocol": "UDP"}, {"name": "b", "port": 53, "protocol": "TCP"}]
    cluster = Cluster(DUAL)
    assert node_ports(cluster.put("dns", {"type": "NodePort", "ports": both})) == [30086, 30086]
    assert node_ports(cluster.put("web", {"type": "LoadBalancer", "ports": PORTS})) == [30087]


def test_node_ports_follow_the_type() -> None:
    cluster = Cluster(DUAL)
    cluster.put("web", {"ports": PORTS})
    assert node_ports(cluster.change("web", type="NodePort")) == [30086]
    assert node_ports(cluster.change("web", ports=[{"port": 81}])) == [30086]
    assert node_ports(cluster.change("web", ports=[{"port": 81, "nodePort": 30333}])) == [30333]
    assert node_ports(cluster.change("web", type="ClusterIP")) == [None]


def test_a_local_load_balancer_gets_a_health_check_port_and_can_do_without_node_ports() -> None:
    cluster = Cluster(DUAL)
    local = {"type": "LoadBalancer", "ports": PORTS, "externalTrafficPolicy": "Local"}
    spec = cluster.put("web", local)
    assert spec["healthCheckNodePort"] not in (None, *node_ports(spec))
    assert "healthCheckNodePort" not in cluster.change("web", externalTrafficPolicy="Cluster")
    bare = {"type": "LoadBalancer", "ports": PORTS, "allocateLoadBalancerNodePorts": False}
    assert node_ports(cluster.put("bare", bare)) == [None]


def test_other_kinds_pass_untouched() -> None:
    pod = {"metadata": {"name": "p"}, "spec": {}}
    assert ServiceAddresses(DUAL, lambda: ())("CREATE", PODS, None, pod) is pod


def test_what_the_client_sent_is_not_edited() -> None:
    sent = {"metadata": {"name": "web", "uid": "u"}, "spec": {"type": "NodePort", "ports": [{"port": 80}]}}
    before = repr(sent)
    ServiceAddresses(DUAL, lambda: ())("CREATE", SERVICES, None, sent)
    assert repr(sent) == before
