"""The cells were compared with those of a Kubernetes 1.34 API server that held the same objects."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from mcs.sandbox import resources
from mcs.sandbox.printing.ages import age_words, duration_words
from mcs.sandbox.printing.builtin_columns import BUILTIN, selector_text
from mcs.sandbox.printing.json_path import found_values
from mcs.sandbox.printing.tables import table
from mcs.sandbox.resources import PrinterColumn, Registry, ResourceType

NOW = datetime(2026, 1, 1, tzinfo=UTC)
CREATED = "2025-12-31T23:55:00Z"

CONTAINERS = [{"name": "web", "image": "nginx:1"}, {"name": "log", "image": "tail:2"}]
TEMPLATE = {
    "metadata": {"labels": {"app": "web"}},
    "spec": {"containers": CONTAINERS},
}
SELECTOR = {
    "matchLabels": {"app": "web"},
    "matchExpressions": [{"key": "tier", "operator": "In", "values": ["b", "a"]}],
}


def obj(name: str, **rest: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, "creationTimestamp": CREATED}, **rest}


def service(name: str, kind: str, ports: list[dict[str, Any]], **spec: Any) -> dict[str, Any]:
    return obj(name, spec={"type": kind, "ports": ports, **spec})


def pod(name: str, status: dict[str, Any], **rest: Any) -> dict[str, Any]:
    made = obj(name, spec={"containers": CONTAINERS, "nodeName": "n1"}, status=status)
    made["metadata"] |= rest
    return made


HALF_READY: list[dict[str, Any]] = [
    {"ready": each, "restartCount": 1, "state": {"running": {}}} for each in (True, False)
]
NO_IMAGE = [{"state": {"waiting": {"reason": "ErrImagePull"}}}]
FIVE_ADDRESSES = [{"ip": f"10.1.0.{n}"} for n in range(1, 6)]
TCP = {"port": 80, "protocol": "TCP"}
CELLS: list[tuple[ResourceType, dict[str, Any], list[Any]]] = [
    (resources.NAMESPACES, obj("shop", status={"phase": "Active"}), ["shop", "Active", "5m"]),
    (
        resources.NODES,
        obj(
            "n1",
            spec={"unschedulable": True},
            status={
                "conditions": [{"type": "Ready", "status": "True"}],
                "addresses": [{"type": "InternalIP", "address": "10.0.0.1"}],
                "nodeInfo": {"kubeletVersion": "v1.34.4", "osImage": "Linux"},
            },
        ),
        [
            "n1", "Ready,SchedulingDisabled", "<none>", "5m", "v1.34.4",
            "10.0.0.1", "<none>", "Linux", "<unknown>", "<unknown>",
        ],
    ),
    (
        resources.PODS,
        pod("p", {"phase": "Running", "podIPs": [{"ip": "10.1.0.1"}], "containerStatuses": HALF_READY}),
        ["p", "1/2", "Running", "2", "5m", "10.1.0.1", "n1", "<none>", "<none>"],
    ),
    (
        resources.PODS,
        pod("p", {"phase": "Pending", "containerStatuses": NO_IMAGE}),
        ["p", "0/2", "ErrImagePull", "0", "5m", "<none>", "n1", "<none>", "<none>"],
    ),
    (
        resources.PODS,
        pod("p", {"phase": "Running"}, deletionTimestamp=CREATED),
        ["p", "0/2", "Terminating", "0", "5m", "<none>", "n1", "<none>", "<none>"],
    ),
    (
        resources.SERVICES,
        service(
            "web", "NodePort", [{**TCP, "nodePort": 30080}, {"port": 53, "protocol": "UDP"}],
            clusterIPs=["10.96.0.9"], selector={"b": "2", "a": "1"},
        ),
        ["web", "NodePort", "10.96.0.9", "<none>", "80:30080/TCP,53/UDP", "5m", "a=1,b=2"],
    ),
    (
        resources.SERVICES,
        service("lb", "LoadBalancer", [TCP], clusterIPs=["10.96.0.9"]),
        ["lb", "LoadBalancer", "10.96.0.9", "<pending>", "80/TCP", "5m", "<none>"],
    ),
    (
        resources.SERVICES,
        service("db", "ClusterIP", [TCP], clusterIPs=["None"], externalIPs=["192.0.2.1"]),
        ["db", "ClusterIP", "None", "192.0.2.1", "80/TCP", "5m", "<none>"],
    ),
    (
        resources.SERVICES,
        service("ext", "ExternalName", [], externalName="a.example"),
        ["ext", "ExternalName", "<none>", "a.example", "<none>", "5m", "<none>"],
    ),
    (
        resources.SERVICES,
        {
            **service("lb", "LoadBalancer", [TCP], clusterIPs=["10.96.0.9"]),
            "status": {"loadBalancer": {"ingress": [{"ip": "203.0.113.2"}, {"hostname": "lb.example"}]}},
        },
        ["lb", "LoadBalancer", "10.96.0.9", "203.0.113.2,lb.example", "80/TCP", "5m", "<none>"],
    ),
    (resources.ENDPOINTS, obj("e"), ["e", "<none>", "5m"]),
    (
        resources.ENDPOINTS,
        obj("e", subsets=[{"addresses": FIVE_ADDRESSES, "ports": [{"port": 80}]}]),
        ["e", "10.1.0.1:80,10.1.0.2:80,10.1.0.3:80 + 2 more...", "5m"],
    ),
    (
        resources.ENDPOINT_SLICES,
        obj(
            "s",
            addressType="IPv4",
            ports=[{"name": "a", "port": 80}, {"name": "b"}],
            endpoints=[{"addresses": [f"10.1.0.{n}"]} for n in range(1, 5)],
        ),
        ["s", "IPv4", "80,b", "10.1.0.1,10.1.0.2,10.1.0.3 + 1 more...", "5m"],
    ),
    (
        resources.ENDPOINT_SLICES,
        obj("s", addressType="IPv6", ports=None, endpoints=None),
        ["s", "IPv6", "<unset>", "<unset>", "5m"],
    ),
    (
        resources.DEPLOYMENTS,
        obj(
            "web",
            spec={"replicas": 3, "selector": SELECTOR, "template": TEMPLATE},
            status={"updatedReplicas": 3, "readyReplicas": 2, "availableReplicas": 1},
        ),
        ["web", "2/3", 3, 1, "5m", "web,log", "nginx:1,tail:2", "app=web,tier in (a,b)"],
    ),
    (
        resources.REPLICA_SETS,
        obj(
            "web-1",
            spec={"replicas": 3, "selector": SELECTOR, "template": TEMPLATE},
            status={"replicas": 2, "readyReplicas": 1},
        ),
        ["web-1", 3, 2, 1, "5m", "web,log", "nginx:1,tail:2", "app=web,tier in (a,b)"],
    ),
    (
        resources.STATEFUL_SETS,
        obj("db", spec={"replicas": 3, "template": TEMPLATE}, status={"readyReplicas": 2}),
        ["db", "2/3", "5m", "web,log", "nginx:1,tail:2"],
    ),
    (resources.CONFIGMAPS, obj("c", data={"a": "1"}, binaryData={"b": "AA=="}), ["c", 2, "5m"]),
    (resources.SECRETS, obj("s", type="Opaque", data={"a": "AA=="}), ["s", "Opaque", 1, "5m"]),
    (resources.SERVICE_ACCOUNTS, obj("a", secrets=[{"name": "x"}]), ["a", 1, "5m"]),
    *((each, obj("r", rules=[]), ["r", CREATED]) for each in (resources.RBAC[0], resources.RBAC[2])),
    *(
        (
            each,
            obj(
                "b",
                roleRef={"kind": "ClusterRole", "name": "r"},
                subjects=[
                    {"kind": "ServiceAccount", "name": "a", "namespace": "n"},
                    {"kind": "User", "name": "u"},
                    {"kind": "User", "name": "v"},
                ],
            ),
            ["b", "ClusterRole/r", "5m", "u, v", "", "n/a"],
        )
        for each in (resources.RBAC[1], resources.RBAC[3])
    ),
    (resources.LEASES, obj("l", spec={"holderIdentity": "me"}), ["l", "me", "5m"]),
    (
        resources.EVENTS,
        obj(
            "e",
            type="Warning",
            reason="Failed",
            message="it did not work\n",
            count=4,
            involvedObject={"kind": "Pod", "name": "p", "fieldPath": "spec.x"},
            source={"component": "kubelet", "host": "n1"},
            firstTimestamp="2025-12-31T23:00:00Z",
            lastTimestamp="2025-12-31T23:59:30Z",
        ),
        ["30s", "Warning", "Failed", "pod/p", "spec.x", "kubelet, n1", "it did not work", "60m", 4, "e"],
    ),
    (resources.CRDS, obj("things.example.org"), ["things.example.org", CREATED]),
]  # fmt: skip


@pytest.mark.parametrize(("resource", "given", "cells"), CELLS)
def test_cells_of_builtin_kinds(resource: ResourceType, given: dict[str, Any], cells: list[Any]) -> None:
    made = table(resource, "v1", [given], NOW)
    assert made["rows"][0]["cells"] == cells
    assert len(made["columnDefinitions"]) == len(cells)


def test_every_builtin_kind_has_columns_and_a_row_for_each() -> None:
    assert {r.group_resource for r in Registry()} == set(BUILTIN) == {row[0].group_resource for row in CELLS}


WIDE_ONLY = {
    "rolebindings.rbac.authorization.k8s.io": ["Users", "Groups", "ServiceAccounts"],
    "clusterrolebindings.rbac.authorization.k8s.io": ["Users", "Groups", "ServiceAccounts"],
    "nodes": ["Internal-IP", "External-IP", "OS-Image", "Kernel-Version", "Container-Runtime"],
    "pods": ["IP", "Node", "Nominated Node", "Readiness Gates"],
    "services": ["Selector"],
    "deployments.apps": ["Containers", "Images", "Selector"],
    "replicasets.apps": ["Containers", "Images", "Selector"],
    "statefulsets.apps": ["Containers", "Images"],
    "events": ["Subobject", "Source", "First Seen", "Count", "Name"],
}


@pytest.mark.parametrize("resource", list(Registry()), ids=lambda r: r.group_resource)
def test_columns_for_wide_output_only(resource: ResourceType) -> None:
    columns = table(resource, "v1", [], NOW)["columnDefinitions"]
    wide = [column["name"] for column in columns if column["priority"] == 1]
    assert wide == WIDE_ONLY.get(resource.group_resource, [])
    assert [column["name"] for column in columns if column["format"] == "name"] == ["Name"]


THING = ResourceType(
    group="example.org",
    version="v1",
    plural="things",
    singular="thing",
    kind="Thing",
    namespaced=True,
    custom=True,
    printer_columns={
        "v1": (
            PrinterColumn("Ready", "string", '.status.conditions[?(@.type=="Ready")].status'),
            PrinterColumn("IP", "string", ".spec.ips", priority=1),
            PrinterColumn("Size", "integer", ".spec.size"),
            PrinterColumn("Ratio", "number", ".spec.size"),
            PrinterColumn("On", "boolean", ".spec.on"),
            PrinterColumn("Since", "date", ".spec.since"),
            PrinterColumn("Label", "string", r".metadata.labels.example\.org/tier"),
        )
    },
)


def test_custom_columns_come_from_the_definition() -> None:
    thing = {
        "metadata": {"name": "t", "labels": {"example.org/tier": "gold"}},
        "spec": {"ips": ["10.0.0.1"], "size": 3, "on": True, "since": CREATED},
        "status": {"conditions": [{"type": "Valid", "status": "False"}, {"type": "Ready", "status": "True"}]},
    }
    empty = {"metadata": {"name": "e"}, "spec": {"size": "big", "on": "yes", "since": "yesterday"}}
    made = table(THING, "v1", [thing, empty], NOW)
    assert [row["cells"] for row in made["rows"]] == [
        ["t", "True", '["10.0.0.1"]', 3, 3.0, True, "5m", "gold"],
        ["e", None, None, None, None, None, "<invalid>", None],
    ]
    assert [column["priority"] for column in made["columnDefinitions"]] == [0, 0, 1, 0, 0, 0, 0, 0]


def test_a_definition_without_columns_shows_name_and_age() -> None:
    made = table(THING, "v1beta1", [obj("t")], NOW)
    assert [column["name"] for column in made["columnDefinitions"]] == ["Name", "Age"]
    assert made["rows"][0]["cells"] == ["t", "5m"]


def test_a_row_carries_metadata_the_object_or_nothing() -> None:
    given = obj("c", data={"a": "1"})
    rows = {
        include: table(resources.CONFIGMAPS, "v1", [given], NOW, include=include)["rows"][0].get("object")
        for include in ("None", "Metadata", "Object")
    }
    partial = {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": given["metadata"]}
    assert rows == {"None": None, "Metadata": partial, "Object": given}


def test_a_finished_pod_says_so_in_its_row() -> None:
    done = {"kind": "Pod", **pod("p", {"phase": "Succeeded"})}
    row = table(resources.PODS, "v1", [done], NOW)["rows"][0]
    told = {"reason": "Succeeded", "message": "The pod has completed successfully."}
    assert row["conditions"] == [{"type": "Completed", "status": "True", **told}]


DAY = 86400
AGES = [
    (-5, "<invalid>"), (-1, "0s"), (0, "0s"), (119, "119s"), (120, "2m"), (200, "3m20s"), (599, "9m59s"),
    (600, "10m"), (3 * 3600 - 1, "179m"), (3 * 3600, "3h"), (3 * 3600 + 300, "3h5m"), (8 * 3600 + 300, "8h"),
    (2 * DAY, "2d"), (2 * DAY + 3600, "2d1h"), (8 * DAY + 3600, "8d"), (729 * DAY, "729d"), (730 * DAY, "2y"),
    (731 * DAY, "2y1d"), (8 * 365 * DAY + DAY, "8y"),
]  # fmt: skip


@pytest.mark.parametrize(("seconds", "words"), AGES)
def test_durations_lose_digits_with_age(seconds: int, words: str) -> None:
    assert duration_words(seconds) == words
    assert age_words((NOW - timedelta(seconds=seconds)).isoformat(), NOW) == words


def test_an_age_without_a_time_is_unknown() -> None:
    assert (age_words(None, NOW), age_words("soon", NOW)) == ("<unknown>", "<invalid>")


DOCUMENT = {"a": {"b": [{"n": "x", "v": 1}, {"n": "y", "v": 2}], "c.d": 3}}
PATHS = [
    (".a.b[0].v", [1]),
    (".a.b[-1].v", [2]),
    (".a.b[7].v", []),
    (".a.b[*].v", [1, 2]),
    (".a.b[?(@.n=='y')].v", [2]),
    (r".a.c\.d", [3]),
    (".a['c.d']", [3]),
    (".a.missing.v", []),
]


@pytest.mark.parametrize(("path", "values"), PATHS)
def test_json_paths(path: str, values: list[Any]) -> None:
    assert found_values(path, DOCUMENT) == values


def test_other_json_paths_are_refused() -> None:
    with pytest.raises(ValueError, match="unsupported JSONPath"):
        found_values(".a[1:2]", DOCUMENT)


def test_a_selector_reads_as_on_the_command_line() -> None:
    expressions = [
        {"key": "b", "operator": "Exists"},
        {"key": "c", "operator": "DoesNotExist"},
        {"key": "a", "operator": "NotIn", "values": ["y", "x"]},
    ]
    assert (
        selector_text({"matchLabels": {"d": "1"}, "matchExpressions": expressions})
        == "a notin (x,y),b,!c,d=1"
    )
