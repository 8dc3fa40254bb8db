"""Which fields an apply leaves to the member, and which it must repeat not to delete them."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from mcs.federation.retention import retained

REPLICAS: dict[str, Any] = {"f:spec": {"f:replicas": {}}}
PORT = 'k:{"port":80,"protocol":"TCP"}'
ABSENT = object()


def owned(
    manager: str, fields: dict[str, Any], operation: str = "Apply", subresource: str = ""
) -> dict[str, Any]:
    return {"manager": manager, "operation": operation, "subresource": subresource, "fieldsV1": fields}


def ours(fields: dict[str, Any]) -> dict[str, Any]:
    return owned("mcs-controller", fields)


def present(spec: dict[str, Any], *managed: dict[str, Any]) -> dict[str, Any]:
    return {"metadata": {"managedFields": list(managed)}, "spec": spec}


def service(**spec: Any) -> dict[str, Any]:
    return {"kind": "Service", "spec": spec}


@pytest.mark.parametrize(
    ("case", "managed", "expected"),
    [
        ("ours alone is repeated, or the server would put its default there", [ours(REPLICAS)], 7),
        ("nobody knows who owns it", [], 7),
        ("an autoscaler took it over", [owned("hpa", REPLICAS, "Update", "scale")], ABSENT),
        ("an autoscaler owns it too", [ours(REPLICAS), owned("hpa", REPLICAS, "Update")], ABSENT),
        ("nobody owns it, so nobody can lose it", [ours({"f:spec": {"f:paused": {}}})], ABSENT),
        ("what we wrote by another way is not ours to apply", [owned("mcs-controller", REPLICAS, "Update")], ABSENT),
    ],
)  # fmt: skip
def test_replicas_that_are_retained(case: str, managed: list[dict[str, Any]], expected: Any) -> None:
    there = present({"replicas": 7}, *managed)
    found = retained({"kind": "X", "spec": {"replicas": 3, "a": 1}}, there, retain_replicas=True)
    assert found["spec"].get("replicas", ABSENT) == expected, case
    assert found["spec"]["a"] == 1


def test_replicas_that_left_the_template_are_retained_too() -> None:
    there = present({"replicas": 7}, ours(REPLICAS))
    assert retained({"kind": "X"}, there, retain_replicas=True) == {"kind": "X", "spec": {"replicas": 7}}


@pytest.mark.parametrize("there", [{}, {"spec": {}}, {"spec": None}])
def test_what_the_member_has_not_is_applied(there: dict[str, Any]) -> None:
    desired = service(clusterIP="10.0.0.1", ports=[{"port": 80, "nodePort": 30001}], replicas=3)
    assert retained(desired, there, retain_replicas=True) == desired


def test_replicas_are_applied_unless_they_are_to_be_retained() -> None:
    desired = {"kind": "X", "spec": {"replicas": 3}}
    assert retained(desired, present({"replicas": 7}), retain_replicas=False) == desired


@pytest.mark.parametrize(
    ("name", "wanted", "has"),
    [
        ("clusterIP", "10.0.0.1", "10.0.0.9"),
        ("clusterIP", "None", "10.0.0.9"),
        ("clusterIPs", ["10.0.0.1"], ["10.0.0.9", "fd00::9"]),
        ("healthCheckNodePort", 30001, 30009),
    ],
)
def test_addresses_of_a_service_are_those_that_the_member_gave_it(name: str, wanted: Any, has: Any) -> None:
    desired = service(**{name: wanted, "type": "LoadBalancer"})
    ours_there = ours({"f:spec": {f"f:{name}": {}}})
    assert retained(desired, present({name: has}, ours_there), retain_replicas=False) == service(
        **{"type": "LoadBalancer", name: has}
    )
    given = present({name: has}, ours({"f:spec": {"f:type": {}}}))
    assert retained(desired, given, retain_replicas=False) == service(type="LoadBalancer")


def test_addresses_that_the_template_does_not_name_are_not_spoken_of() -> None:
    there = present(
        {"clusterIP": "10.0.0.9", "healthCheckNodePort": 0, "ports": [{"port": 80, "nodePort": 30009}]}
    )
    desired = service(ports=[{"port": 80}])
    assert retained(desired, there, retain_replicas=False) == desired
    zero = service(healthCheckNodePort=30001)
    assert retained(zero, there, retain_replicas=False) == zero


@pytest.mark.parametrize(
    ("case", "port", "expected"),
    [
        ("the protocol is TCP unless it is said", {"port": 80, "nodePort": 1}, 30009),
        ("of the same name", {"name": "", "port": 80, "protocol": "TCP", "nodePort": 1}, 30009),
        ("another name is another port", {"name": "a", "port": 80, "nodePort": 1}, 1),
        ("another protocol is another port", {"port": 80, "protocol": "UDP", "nodePort": 1}, 1),
        ("another number is another port", {"port": 81, "nodePort": 1}, 1),
    ],
)
def test_node_ports_are_kept_by_name_protocol_and_port(
    case: str, port: dict[str, Any], expected: int
) -> None:
    there = present({"ports": [{"port": 80, "protocol": "TCP", "nodePort": 30009}]})
    found = retained(service(ports=[port]), there, retain_replicas=False)
    assert found["spec"]["ports"] == [{**port, "nodePort": expected}], case


def test_the_owner_of_a_node_port_is_found_by_the_key_of_its_port() -> None:
    ports = [{"port": 80, "nodePort": 30009}, {"port": 81, "nodePort": 30010}]
    there = present({"ports": ports}, ours({"f:spec": {"f:ports": {PORT: {".": {}, "f:nodePort": {}}}}}))
    found = retained(service(ports=[{**each, "nodePort": 1} for each in ports]), there, retain_replicas=False)
    assert found["spec"]["ports"] == [{"port": 80, "nodePort": 30009}, {"port": 81}]


@pytest.mark.parametrize("spec", [{"ports": "x"}, {"ports": ["x"]}, {"ports": None}, "x", None])
def test_what_is_no_service_is_left_for_the_server_to_refuse(spec: Any) -> None:
    there = present({"ports": [{"port": 80, "nodePort": 30009}]})
    assert retained({"kind": "Service", "spec": spec}, there, retain_replicas=False)["spec"] == spec


def test_neither_object_is_changed() -> None:
    desired = service(clusterIP="10.0.0.1", ports=[{"port": 80, "nodePort": 1}])
    there = present({"clusterIP": "10.0.0.9", "ports": [{"port": 80, "nodePort": 30009}], "replicas": 3})
    before = copy.deepcopy((desired, there))
    assert retained(desired, there, retain_replicas=True) != desired
    assert (desired, there) == before
