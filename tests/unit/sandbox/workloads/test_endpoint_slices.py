"""The slices that a Service gets from its Pods, as the endpointslice controller writes them."""

from typing import Any

import pytest

from mcs.sandbox.store import Object, Objects
from mcs.sandbox.workloads.actions import Actions, Again, Create, Delete, Update
from mcs.sandbox.workloads.endpoint_slices import CHANGED_AT, MOST_ENDPOINTS, plan_endpoint_slices
from tests.unit.sandbox.workloads.simulated_cluster import WALL

NODES = [{"metadata": {"name": "n1", "labels": {"topology.kubernetes.io/zone": "z1"}}}]


def service(**spec: Any) -> Object:
    ports = [{"name": "http", "port": 80, "targetPort": "http", "protocol": "TCP"}]
    return {
        "metadata": {"name": "web", "namespace": "shop", "uid": "s", "labels": {"team": "a"}},
        "spec": {
            "selector": {"app": "web"},
            "clusterIP": "10.96.0.9",
            "ipFamilies": ["IPv4"],
            "ports": ports,
            **spec,
        },
    }


def pod(number: int, ready: bool = True, port: int = 8080, deleting: bool = False, **spec: Any) -> Object:
    metadata: Object = {
        "name": f"p{number}",
        "namespace": "shop",
        "uid": f"u{number}",
        "labels": {"app": "web"},
    }
    if deleting:
        metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    containers = [{"name": "c", "ports": [{"name": "http", "containerPort": port}]}]
    return {
        "metadata": metadata,
        "spec": {"nodeName": "n1", "containers": containers, **spec},
        "status": {
            "phase": "Running",
            "podIPs": [{"ip": f"10.1.0.{number}"}, {"ip": f"fd00::{number:x}"}],
            "conditions": [{"type": "Ready", "status": str(ready)}],
        },
    }


def carried_out(slices: Objects, actions: Actions) -> Objects:
    """The slices after the actions, as a store would hold them."""
    found = {s["metadata"]["name"]: s for s in slices}
    for number, action in enumerate(actions):
        match action:
            case Create(_, obj):
                name = f"{obj['metadata']['generateName']}{len(found)}{number}"
                found[name] = {**obj, "metadata": {**obj["metadata"], "name": name}}
            case Update(_, obj):
                found[obj["metadata"]["name"]] = obj
            case Delete(_, obj):
                del found[obj["metadata"]["name"]]
            case Again():
                raise AssertionError("slices wait for nothing")
    return list(found.values())


def settled(of: Object, pods: Objects, slices: Objects | None = None) -> Objects:
    """The slices once a plan was carried out; a second plan must find nothing to do."""
    after = carried_out(slices or [], plan_endpoint_slices(of, pods, NODES, slices or [], WALL))
    assert plan_endpoint_slices(of, pods, NODES, after, WALL) == []
    return after


def addresses(slices: Objects) -> list[list[str]]:
    return [[e["addresses"][0] for e in s["endpoints"]] for s in slices]


def test_a_slice_says_whose_it_is() -> None:
    (made,) = settled(service(), [pod(1)])
    labels = {
        "team": "a",
        "kubernetes.io/service-name": "web",
        "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
    }
    assert made["metadata"]["labels"] == labels
    assert made["metadata"]["annotations"] == {CHANGED_AT: "2026-01-01T00:00:00Z"}
    (owner,) = made["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["name"], owner["uid"], owner["controller"]) == ("Service", "web", "s", True)
    assert made["addressType"] == "IPv4"
    assert made["ports"] == [{"name": "http", "port": 8080, "protocol": "TCP"}]
    assert made["endpoints"] == [
        {
            "addresses": ["10.1.0.1"],
            "conditions": {"ready": True, "serving": True, "terminating": False},
            "targetRef": {"kind": "Pod", "namespace": "shop", "name": "p1", "uid": "u1"},
            "nodeName": "n1",
            "zone": "z1",
        }
    ]


CONDITIONS = [
    ("ready", {}, pod(1), (True, True, False)),
    ("not ready", {}, pod(1, ready=False), (False, False, False)),
    ("terminating", {}, pod(1, deleting=True), (False, True, True)),
    ("published anyway", {"publishNotReadyAddresses": True}, pod(1, ready=False), (True, False, False)),
    (
        "published though terminating",
        {"publishNotReadyAddresses": True},
        pod(1, ready=False, deleting=True),
        (True, False, True),
    ),
]


@pytest.mark.parametrize(
    ("spec", "given", "expected"), [row[1:] for row in CONDITIONS], ids=[row[0] for row in CONDITIONS]
)
def test_conditions(spec: Object, given: Object, expected: tuple[bool, bool, bool]) -> None:
    (made,) = settled(service(**spec), [given])
    conditions = made["endpoints"][0]["conditions"]
    assert (conditions["ready"], conditions["serving"], conditions["terminating"]) == expected


LEFT_OUT = [
    ("without an address", {**pod(1), "status": {"phase": "Pending"}}),
    ("finished", {**pod(1), "status": {**pod(1)["status"], "phase": "Succeeded"}}),
    ("of another app", {**pod(1), "metadata": {**pod(1)["metadata"], "labels": {"app": "db"}}}),
]


@pytest.mark.parametrize("given", [row[1] for row in LEFT_OUT], ids=[row[0] for row in LEFT_OUT])
def test_pods_that_are_no_endpoints_leave_one_empty_slice(given: Object) -> None:
    (made,) = settled(service(), [given])
    assert (made["endpoints"], made["ports"]) == ([], [])


def test_one_slice_for_each_family_of_the_service() -> None:
    slices = settled(service(ipFamilies=["IPv6", "IPv4"]), [pod(1)])
    assert [(s["addressType"], *addresses([s])) for s in slices] == [
        ("IPv6", ["fd00::1"]),
        ("IPv4", ["10.1.0.1"]),
    ]
    (left,) = settled(service(ipFamilies=["IPv4"]), [pod(1)], slices)
    assert left["addressType"] == "IPv4"


def test_a_hostname_only_under_the_subdomain_of_the_service() -> None:
    pods = [pod(1, hostname="a", subdomain="web"), pod(2, hostname="b", subdomain="db"), pod(3, hostname="c")]
    (made,) = settled(service(clusterIP="None"), pods)
    assert [e.get("hostname") for e in made["endpoints"]] == ["a", None, None]
    assert made["metadata"]["labels"]["service.kubernetes.io/headless"] == ""


TARGETS = [
    ("a number", {"port": 80, "targetPort": 9000}, [9000]),
    ("none given", {"port": 80}, [80]),
    ("a name", {"port": 80, "targetPort": "http"}, [8080]),
    ("a name of the other protocol", {"port": 80, "targetPort": "http", "protocol": "UDP"}, []),
    ("a name nobody has", {"port": 80, "targetPort": "x"}, []),
]


@pytest.mark.parametrize(("port", "expected"), [row[1:] for row in TARGETS], ids=[row[0] for row in TARGETS])
def test_target_ports(port: Object, expected: list[int]) -> None:
    (made,) = settled(service(ports=[port]), [pod(1)])
    assert [p["port"] for p in made["ports"]] == expected


def test_pods_that_mean_different_ports_by_one_name_are_kept_apart() -> None:
    slices = settled(service(), [pod(1), pod(2, port=9090), pod(3)])
    assert {s["ports"][0]["port"]: addresses([s])[0] for s in slices} == {
        8080: ["10.1.0.1", "10.1.0.3"],
        9090: ["10.1.0.2"],
    }


def test_a_slice_is_full_at_a_hundred_and_new_endpoints_fill_gaps_first() -> None:
    pods = [pod(n) for n in range(1, 151)]
    slices = settled(service(), pods)
    assert [len(s["endpoints"]) for s in slices] == [MOST_ENDPOINTS, 50]
    fewer = settled(service(), pods[10:], slices)
    assert [len(s["endpoints"]) for s in fewer] == [90, 50]
    more = settled(service(), [*pods[10:], *(pod(n) for n in range(200, 205))], fewer)
    assert sorted(len(s["endpoints"]) for s in more) == [50, 95]
    assert len(more) == 2


def test_an_endpoint_stays_where_it_is_and_only_its_slice_is_written() -> None:
    pods = [pod(n) for n in range(1, 151)]
    slices = settled(service(), pods)
    pods[120] = pod(121, ready=False)
    actions = plan_endpoint_slices(service(), pods, NODES, slices, WALL)
    assert [type(action) for action in actions] == [Update]
    after = carried_out(slices, actions)
    assert addresses(after) == addresses(slices)


def test_an_emptied_slice_keeps_its_name_as_the_empty_one_and_is_used_again() -> None:
    slices = settled(service(), [pod(1)])
    empty = settled(service(), [], slices)
    again = settled(service(), [pod(2)], empty)
    names = {s["metadata"]["name"] for s in (*slices, *empty, *again)}
    assert len(names) == 1
    assert addresses(again) == [["10.1.0.2"]]


def test_changed_ports_are_written_into_the_same_slice() -> None:
    slices = settled(service(), [pod(1)])
    after = settled(service(ports=[{"name": "http", "port": 80, "targetPort": 9000}]), [pod(1)], slices)
    assert [s["metadata"]["name"] for s in after] == [s["metadata"]["name"] for s in slices]
    assert after[0]["ports"][0]["port"] == 9000


NOT_OURS = [{"selector": {}}, {"type": "ExternalName"}]


@pytest.mark.parametrize("spec", NOT_OURS)
def test_slices_of_other_services_are_left_to_others(spec: Object) -> None:
    assert plan_endpoint_slices(service(**spec), [pod(1)], NODES, [], WALL) == []


def test_a_slice_that_somebody_else_manages_is_not_touched() -> None:
    (own,) = settled(service(), [pod(1)])
    labels = {**own["metadata"]["labels"], "endpointslice.kubernetes.io/managed-by": "someone"}
    foreign = {**own, "metadata": {**own["metadata"], "name": "foreign", "labels": labels}, "endpoints": []}
    assert plan_endpoint_slices(service(), [pod(1)], NODES, [own, foreign], WALL) == []
