"""The EndpointSlices of a Service with a selector, as the EndpointSlice controller writes them.

Source: Kubernetes concepts, "EndpointSlices" (Management, Distribution of EndpointSlices, Conditions) and "Service"
(Headless Services, named targetPort). One slice holds one address family, one list of ports and at most 100
endpoints; an endpoint stays in its slice for as long as it can. Topology hints are not written.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from mcs.sandbox.resources import ENDPOINT_SLICES, SERVICES
from mcs.sandbox.rules.addresses import HEADLESS, family_of
from mcs.sandbox.store import Object, Objects
from mcs.sandbox.workloads.actions import Actions, Create, Delete, Update
from mcs.sandbox.workloads.conditions import is_true
from mcs.sandbox.workloads.ownership import controller_reference, is_being_deleted

MOST_ENDPOINTS = 100
SERVICE_NAME = "kubernetes.io/service-name"
MANAGED_BY = "endpointslice.kubernetes.io/managed-by"
MANAGER = "endpointslice-controller.k8s.io"
IS_HEADLESS = "service.kubernetes.io/headless"
CHANGED_AT = "endpoints.kubernetes.io/last-change-trigger-time"
RESERVED = (SERVICE_NAME, MANAGED_BY, IS_HEADLESS)

Ports = tuple[tuple[str, Any], ...]
PortList = tuple[Ports, ...]


@dataclass(slots=True)
class _Slice:
    """A slice while it is being planned: what is there, and what it shall hold."""

    present: Object | None
    family: str
    ports: PortList
    endpoints: Objects


def has_managed_endpoints(service: Object) -> bool:
    """Whether the slices of a Service are made from Pods: it has a selector and is no ExternalName."""
    spec = service["spec"]
    return bool(spec.get("selector")) and spec.get("type") != "ExternalName" and not is_being_deleted(service)


def selects(service: Object, pod: Object) -> bool:
    """Whether the Service's selector chooses the pod."""
    selector = service["spec"].get("selector") or {}
    return bool(selector.items() <= pod["metadata"].get("labels", {}).items())


def plan_endpoint_slices(
    service: Object, pods: Objects, nodes: Objects, slices: Objects, changed_at: datetime
) -> Actions:
    """Create, update and delete slices until they tell what the pods are.

    `pods` and `slices` are those of the namespace; `changed_at` is when the change that leads here happened.
    """
    if not has_managed_endpoints(service):
        return []
    present = [s for s in slices if _is_of(service, s)]
    zones = {n["metadata"]["name"]: _zone(n) for n in nodes}
    chosen = [pod for pod in pods if selects(service, pod) and _has_addresses(pod)]
    families = service["spec"].get("ipFamilies") or ()
    actions: Actions = [Delete(ENDPOINT_SLICES, s) for s in present if s["addressType"] not in families]
    for family in families:
        own = [s for s in present if s["addressType"] == family]
        planned = _distributed(family, own, _desired(service, chosen, zones, family))
        if any(s.endpoints for s in planned):
            actions += _written(service, planned, changed_at)
        else:
            actions += _placeholder(service, family, own, changed_at)
    return actions


def _is_of(service: Object, endpoint_slice: Object) -> bool:
    labels = endpoint_slice["metadata"].get("labels", {})
    named = labels.get(SERVICE_NAME) == service["metadata"]["name"]
    return named and labels.get(MANAGED_BY) == MANAGER and not is_being_deleted(endpoint_slice)


def _zone(node: Object) -> str:
    zone: str = node["metadata"].get("labels", {}).get("topology.kubernetes.io/zone", "")
    return zone


def _has_addresses(pod: Object) -> bool:
    status = pod.get("status", {})
    return bool(status.get("podIPs")) and status.get("phase") not in ("Succeeded", "Failed")


def _desired(
    service: Object, pods: Objects, zones: dict[str, str], family: str
) -> dict[PortList, dict[str, Object]]:
    """The endpoints of one family by port list, and in there by pod uid."""
    found: dict[PortList, dict[str, Object]] = {}
    for pod in pods:
        addresses = [entry["ip"] for entry in pod["status"]["podIPs"] if family_of(entry["ip"]) == family]
        if addresses:
            endpoint = endpoint_of(service, pod, addresses[:1], zones)
            found.setdefault(ports_of(service, pod), {})[pod["metadata"]["uid"]] = endpoint
    return found


def endpoint_of(service: Object, pod: Object, addresses: list[str], zones: dict[str, str]) -> Object:
    """One pod as an endpoint of the Service."""
    metadata, spec = pod["metadata"], pod["spec"]
    serving, terminating = is_true(pod, "Ready"), is_being_deleted(pod)
    ready = bool(service["spec"].get("publishNotReadyAddresses")) or (serving and not terminating)
    endpoint: Object = {
        "addresses": addresses,
        "conditions": {"ready": ready, "serving": serving, "terminating": terminating},
        "targetRef": {
            "kind": "Pod",
            "namespace": metadata["namespace"],
            "name": metadata["name"],
            "uid": metadata["uid"],
        },
    }
    if spec.get("hostname") and spec.get("subdomain") == service["metadata"]["name"]:
        endpoint["hostname"] = spec["hostname"]
    if node := spec.get("nodeName"):
        endpoint["nodeName"] = node
        if zones.get(node):
            endpoint["zone"] = zones[node]
    return endpoint


def ports_of(service: Object, pod: Object) -> PortList:
    """The Service's ports as they are on this pod; a named targetPort the pod has not is left out."""
    found = []
    for port in service["spec"].get("ports") or ():
        number = _target(port, pod)
        if number is not None:
            entry = {"name": port.get("name", ""), "port": number, "protocol": port.get("protocol", "TCP")}
            if "appProtocol" in port:
                entry["appProtocol"] = port["appProtocol"]
            found.append(_port_key(entry))
    return tuple(found)


def _target(port: Object, pod: Object) -> int | None:
    target = port.get("targetPort", port["port"])
    if isinstance(target, int):
        return target or port["port"]
    for container in pod["spec"].get("containers", ()):
        for candidate in container.get("ports") or ():
            same = candidate.get("protocol", "TCP") == port.get("protocol", "TCP")
            if candidate.get("name") == target and same:
                number: int = candidate["containerPort"]
                return number
    return None


def _port_key(port: Object) -> Ports:
    return tuple(sorted(port.items()))


def _distributed(family: str, own: Objects, desired: dict[PortList, dict[str, Object]]) -> list[_Slice]:
    """Leave endpoints where they are, put new ones where there is room, then into new slices."""
    planned: list[_Slice] = []
    left = {ports: dict(endpoints) for ports, endpoints in desired.items()}
    for endpoint_slice in own:
        ports = tuple(_port_key(port) for port in endpoint_slice.get("ports") or ())
        waiting = left.get(ports, {})
        uids = [e.get("targetRef", {}).get("uid") for e in endpoint_slice.get("endpoints") or ()]
        kept = [waiting.pop(uid) for uid in uids if uid in waiting]
        planned.append(_Slice(endpoint_slice, family, ports, kept))
    for ports, waiting in left.items():
        rest = list(waiting.values())
        # Changed slices are written anyway, and the fullest are filled first: the fewest writes and slices.
        homes = [s for s in planned if s.ports == ports and s.endpoints]
        for home in sorted(homes, key=lambda s: (not _is_changed(s), -len(s.endpoints))):
            room = MOST_ENDPOINTS - len(home.endpoints)
            home.endpoints += rest[:room]
            rest = rest[room:]
        new = range(0, len(rest), MOST_ENDPOINTS)
        planned += [_Slice(None, family, ports, rest[start : start + MOST_ENDPOINTS]) for start in new]
    return planned


def _is_changed(planned: _Slice) -> bool:
    return planned.present is not None and planned.endpoints != (planned.present.get("endpoints") or [])


def _written(service: Object, planned: Sequence[_Slice], changed_at: datetime) -> Actions:
    spare = [s.present for s in planned if not s.endpoints and s.present is not None]
    actions: Actions = []
    for each in (s for s in planned if s.endpoints):
        # A slice that would go lends its name to one that would come.
        present = each.present or (spare.pop(0) if spare else None)
        actions += _one(service, present, each, changed_at)
    return [*actions, *(Delete(ENDPOINT_SLICES, s) for s in spare)]


def _placeholder(service: Object, family: str, own: Objects, changed_at: datetime) -> Actions:
    """A Service without endpoints still has one, empty slice of each family."""
    empty = _Slice(None, family, (), [])
    present = own[0] if own else None
    return [*_one(service, present, empty, changed_at), *(Delete(ENDPOINT_SLICES, s) for s in own[1:])]


def _one(service: Object, present: Object | None, wanted: _Slice, changed_at: datetime) -> Actions:
    labels = _labels(service)
    content: Object = {"ports": [dict(port) for port in wanted.ports], "endpoints": wanted.endpoints}
    if present is None:
        metadata: Object = {
            "generateName": f"{service['metadata']['name']}-",
            "namespace": service["metadata"]["namespace"],
            "labels": labels,
            "annotations": _annotations({}, changed_at),
            "ownerReferences": [controller_reference(SERVICES, service)],
        }
        return [Create(ENDPOINT_SLICES, {"metadata": metadata, "addressType": wanted.family, **content})]
    same = present["metadata"].get("labels") == labels and all(
        content[key] == (present.get(key) or []) for key in content
    )
    if same:
        return []
    annotations = _annotations(present["metadata"].get("annotations", {}), changed_at)
    metadata = {**present["metadata"], "labels": labels, "annotations": annotations}
    return [Update(ENDPOINT_SLICES, {**present, "metadata": metadata, **content})]


def _labels(service: Object) -> Object:
    own: Iterable[tuple[str, str]] = service["metadata"].get("labels", {}).items()
    labels = {key: value for key, value in own if key not in RESERVED}
    if service["spec"].get("clusterIP") == HEADLESS:
        labels[IS_HEADLESS] = ""
    return {**labels, SERVICE_NAME: service["metadata"]["name"], MANAGED_BY: MANAGER}


def _annotations(present: Object, changed_at: datetime) -> Object:
    return {**present, CHANGED_AT: changed_at.isoformat().replace("+00:00", "Z")}
