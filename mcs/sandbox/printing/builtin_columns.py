"""The columns that `kubectl get` prints of the built-in kinds, and the cells of one object.

Names, priorities (1 means `-o wide` only) and formats are those of a Kubernetes 1.34 API server. Custom
kinds and the Table around the rows are left to `tables`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from mcs.sandbox.printing.ages import age_words
from mcs.sandbox.store import Object

NONE = "<none>"
SHOWN = 3
Cells = list[Any]
CellsOf = Callable[[Object, datetime], Cells]


@dataclass(frozen=True, slots=True)
class Column:
    """One entry of a Table's `columnDefinitions`."""

    name: str
    type: str = "string"
    format: str = ""
    priority: int = 0
    description: str = ""

    def as_json(self) -> dict[str, Any]:
        """The entry as it goes over the wire."""
        return {
            "name": self.name, "type": self.type, "format": self.format,
            "description": self.description, "priority": self.priority,
        }  # fmt: skip


NAME = Column("Name", format="name")
AGE = Column("Age")


def _age(obj: Object, now: datetime) -> str:
    return age_words(obj["metadata"].get("creationTimestamp"), now)


def _name(obj: Object) -> str:
    name: str = obj["metadata"]["name"]
    return name


def _wide(*names: str) -> tuple[Column, ...]:
    return tuple(Column(name, priority=1) for name in names)


def _namespace(obj: Object, now: datetime) -> Cells:
    return [_name(obj), obj.get("status", {}).get("phase", ""), _age(obj, now)]


def _node(obj: Object, now: datetime) -> Cells:
    status = obj.get("status", {})
    states = [
        "Ready" if c["status"] == "True" else "NotReady" for c in _conditions(obj) if c["type"] == "Ready"
    ]
    states = states or ["Unknown"]
    if obj.get("spec", {}).get("unschedulable"):
        states.append("SchedulingDisabled")
    info = status.get("nodeInfo", {})
    prefix = "node-role.kubernetes.io/"
    labels = obj["metadata"].get("labels", {})
    roles = sorted(
        label.removeprefix(prefix) for label in labels if label.startswith(prefix) and label != prefix
    )
    addresses = {address["type"]: address["address"] for address in reversed(status.get("addresses", ()))}
    return [
        _name(obj), ",".join(states), ",".join(roles) or NONE, _age(obj, now), info.get("kubeletVersion", ""),
        addresses.get("InternalIP", NONE), addresses.get("ExternalIP", NONE),
        *(info.get(key) or "<unknown>" for key in ("osImage", "kernelVersion", "containerRuntimeVersion")),
    ]  # fmt: skip


def _pod(obj: Object, now: datetime) -> Cells:
    status, spec = obj.get("status", {}), obj.get("spec", {})
    containers = status.get("containerStatuses", ())
    ready = sum(1 for c in containers if c.get("ready") and "running" in c.get("state", {}))
    restarts = sum(c.get("restartCount", 0) for c in containers)
    addresses = status.get("podIPs") or [{"ip": NONE}]
    gates = spec.get("readinessGates", ())
    met = {c["type"] for c in _conditions(obj) if c["status"] == "True"}
    passed = sum(1 for gate in gates if gate["conditionType"] in met)
    return [
        _name(obj), f"{ready}/{len(spec.get('containers', ()))}", pod_state(obj), str(restarts), _age(obj,
        now), addresses[0]["ip"], spec.get("nodeName") or NONE, status.get("nominatedNodeName") or NONE,
        f"{passed}/{len(gates)}" if gates else NONE,
    ]  # fmt: skip


def pod_state(pod: Object) -> str:
    """The STATUS column: the phase, or why a container does not run, or `Terminating`."""
    status = pod.get("status", {})
    phase = status.get("phase", "")
    state: str = status.get("reason") or phase
    if waiting := _initialising(pod):
        return "Terminating" if pod["metadata"].get("deletionTimestamp") else waiting
    for container in reversed(status.get("containerStatuses", ())):
        why = container.get("state", {})
        if reason := why.get("waiting", {}).get("reason") or why.get("terminated", {}).get("reason"):
            state = reason
    if pod["metadata"].get("deletionTimestamp") and phase not in ("Succeeded", "Failed"):
        return "Terminating"
    return state


def _initialising(pod: Object) -> str:
    """What the first init container that is not done does; empty when there is none."""
    statuses = pod.get("status", {}).get("initContainerStatuses", ())
    for index, container in enumerate(statuses):
        how = container.get("state", {})
        if how.get("terminated", {}).get("exitCode") == 0:
            continue
        why = how.get("terminated", {}).get("reason") or how.get("waiting", {}).get("reason") or ""
        if why and why != "PodInitializing":
            return f"Init:{why}"
        return f"Init:{index}/{len(pod.get('spec', {}).get('initContainers', ()))}"
    return ""


def _service(obj: Object, now: datetime) -> Cells:
    spec = obj["spec"]
    addresses = spec.get("clusterIPs") or [NONE]
    ports = ",".join(_service_port(port) for port in spec.get("ports", ())) or NONE
    selector = ",".join(f"{key}={value}" for key, value in sorted((spec.get("selector") or {}).items()))
    return [
        _name(obj), spec["type"], addresses[0], _external(obj), ports, _age(obj, now), selector or NONE,
    ]  # fmt: skip


def _service_port(port: Object) -> str:
    node_port = f":{port['nodePort']}" if port.get("nodePort") else ""
    return f"{port['port']}{node_port}/{port.get('protocol', 'TCP')}"


def _external(service: Object) -> str:
    spec = service["spec"]
    given = spec.get("externalIPs", [])
    match spec["type"]:
        case "ExternalName":
            name: str = spec.get("externalName", "")
            return name
        case "LoadBalancer":
            ingress = service.get("status", {}).get("loadBalancer", {}).get("ingress", ())
            found = sorted({entry.get("ip") or entry.get("hostname", "") for entry in ingress})
            return ",".join([*found, *given]) or "<pending>"
        case _:
            return ",".join(given) or NONE


def _endpoints(obj: Object, now: datetime) -> Cells:
    found: list[str] = []
    for subset in obj.get("subsets") or ():
        ports = subset.get("ports")
        for port in ports or (None,):
            found += [_host_port(address["ip"], port) for address in subset.get("addresses", ())]
    return [_name(obj), _shortened(found, NONE if not obj.get("subsets") else ""), _age(obj, now)]


def _host_port(address: str, port: Object | None) -> str:
    if port is None:
        return address
    return f"[{address}]:{port['port']}" if ":" in address else f"{address}:{port['port']}"


def _endpoint_slice(obj: Object, now: datetime) -> Cells:
    ports = [str(port.get("port") or port.get("name") or "*") for port in obj.get("ports") or ()]
    addresses = [address for endpoint in obj.get("endpoints") or () for address in endpoint["addresses"]]
    return [
        _name(obj), obj["addressType"], _shortened(ports, "<unset>"), _shortened(addresses, "<unset>"),
        _age(obj, now),
    ]  # fmt: skip


def _shortened(values: Sequence[str], when_empty: str) -> str:
    if not values:
        return when_empty
    more = f" + {len(values) - SHOWN} more..." if len(values) > SHOWN else ""
    return ",".join(values[:SHOWN]) + more


def selector_text(selector: Object | None) -> str:
    """A LabelSelector in the notation of `kubectl -l`, its requirements ordered by key."""
    selector = selector or {}
    found = [(key, f"{key}={value}") for key, value in selector.get("matchLabels", {}).items()]
    for requirement in selector.get("matchExpressions", ()):
        key, values = requirement["key"], ",".join(sorted(requirement.get("values", ())))
        match requirement["operator"]:
            case "Exists":
                text = key
            case "DoesNotExist":
                text = f"!{key}"
            case operator:
                text = f"{key} {operator.lower()} ({values})"
        found.append((key, text))
    return ",".join(text for _, text in sorted(found))


def _containers(obj: Object) -> list[str]:
    containers = obj["spec"]["template"]["spec"].get("containers", ())
    return [",".join(container.get(key, "") for container in containers) for key in ("name", "image")]


def _deployment(obj: Object, now: datetime) -> Cells:
    status = obj.get("status", {})
    return [
        _name(obj), _ready_of_desired(obj), status.get("updatedReplicas", 0),
        status.get("availableReplicas", 0), _age(obj, now), *_containers(obj),
        selector_text(obj["spec"].get("selector")),
    ]  # fmt: skip


def _ready_of_desired(obj: Object) -> str:
    return f"{obj.get('status', {}).get('readyReplicas', 0)}/{obj['spec'].get('replicas', 1)}"


def _replica_set(obj: Object, now: datetime) -> Cells:
    status = obj.get("status", {})
    return [
        _name(obj), obj["spec"].get("replicas", 1), status.get("replicas", 0), status.get("readyReplicas", 0),
        _age(obj, now), *_containers(obj), selector_text(obj["spec"].get("selector")) or NONE,
    ]  # fmt: skip


def _stateful_set(obj: Object, now: datetime) -> Cells:
    return [_name(obj), _ready_of_desired(obj), _age(obj, now), *_containers(obj)]


def _config_map(obj: Object, now: datetime) -> Cells:
    return [_name(obj), len(obj.get("data") or {}) + len(obj.get("binaryData") or {}), _age(obj, now)]


def _secret(obj: Object, now: datetime) -> Cells:
    return [_name(obj), obj.get("type", "Opaque"), len(obj.get("data") or {}), _age(obj, now)]


def _service_account(obj: Object, now: datetime) -> Cells:
    return [_name(obj), len(obj.get("secrets") or ()), _age(obj, now)]


def _lease(obj: Object, now: datetime) -> Cells:
    return [_name(obj), obj.get("spec", {}).get("holderIdentity", ""), _age(obj, now)]


def _event(obj: Object, now: datetime) -> Cells:
    about = obj.get("involvedObject", {})
    first = age_words(obj.get("firstTimestamp") or obj.get("eventTime"), now)
    last = age_words(obj["lastTimestamp"], now) if obj.get("lastTimestamp") else first
    count = obj.get("count") or 1
    if series := obj.get("series"):
        last, count = age_words(series.get("lastObservedTime"), now), series.get("count", 1)
    source = obj.get("source", {})
    from_whom = [
        source.get("component") or obj.get("reportingComponent", ""),
        source.get("host") or obj.get("reportingInstance", ""),
    ]
    target = about.get("kind", "").lower() + (f"/{about['name']}" if about.get("name") else "")
    return [
        last, obj.get("type", ""), obj.get("reason", ""), target, about.get("fieldPath", ""),
        ", ".join(part for part in from_whom if part), obj.get("message", "").strip(), first,
        count, _name(obj),
    ]  # fmt: skip


def _definition(obj: Object, now: datetime) -> Cells:
    return [_name(obj), obj["metadata"].get("creationTimestamp")]


def _conditions(obj: Object) -> list[Object]:
    return obj.get("status", {}).get("conditions") or []


_CONTAINERS = ("Containers", "Images")
_COUNTS = tuple(Column(name, type="integer") for name in ("Desired", "Current", "Ready"))


def _role(obj: Object, now: datetime) -> Cells:
    return [_name(obj), obj["metadata"].get("creationTimestamp", "")]


def _role_binding(obj: Object, now: datetime) -> Cells:
    named: dict[str, list[str]] = {"User": [], "Group": [], "ServiceAccount": []}
    for subject in obj.get("subjects") or ():
        place = f"{subject['namespace']}/" if subject["kind"] == "ServiceAccount" else ""
        named.setdefault(subject["kind"], []).append(f"{place}{subject['name']}")
    role = obj["roleRef"]
    subjects = (", ".join(named[kind]) for kind in ("User", "Group", "ServiceAccount"))
    return [_name(obj), f"{role['kind']}/{role['name']}", _age(obj, now), *subjects]


_ROLE = ((NAME, Column("Created At")), _role)
_BINDING = ((NAME, Column("Role"), AGE, *_wide("Users", "Groups", "ServiceAccounts")), _role_binding)

BUILTIN: dict[str, tuple[tuple[Column, ...], CellsOf]] = {
    "namespaces": ((NAME, Column("Status"), AGE), _namespace),
    "nodes": (
        (
            NAME, Column("Status"), Column("Roles"), AGE, Column("Version"),
            *_wide("Internal-IP", "External-IP", "OS-Image", "Kernel-Version", "Container-Runtime"),
        ),
        _node,
    ),
    "pods": (
        (
            NAME, Column("Ready"), Column("Status"), Column("Restarts"), AGE,
            *_wide("IP", "Node", "Nominated Node", "Readiness Gates"),
        ),
        _pod,
    ),
    "services": (
        (
            NAME, Column("Type"), Column("Cluster-IP"), Column("External-IP"), Column("Port(s)"), AGE,
            *_wide("Selector"),
        ),
        _service,
    ),
    "endpoints": ((NAME, Column("Endpoints"), AGE), _endpoints),
    "endpointslices.discovery.k8s.io": (
        (NAME, Column("AddressType"), Column("Ports"), Column("Endpoints"), AGE),
        _endpoint_slice,
    ),
    "deployments.apps": (
        (
            NAME, Column("Ready"), Column("Up-to-date"), Column("Available"), AGE,
            *_wide(*_CONTAINERS, "Selector"),
        ),
        _deployment,
    ),
    "replicasets.apps": ((NAME, *_COUNTS, AGE, *_wide(*_CONTAINERS, "Selector")), _replica_set),
    "statefulsets.apps": ((NAME, Column("Ready"), AGE, *_wide(*_CONTAINERS)), _stateful_set),
    "configmaps": ((NAME, Column("Data"), AGE), _config_map),
    "secrets": ((NAME, Column("Type"), Column("Data"), AGE), _secret),
    "serviceaccounts": ((NAME, Column("Secrets"), AGE), _service_account),
    **{f"{kind}.rbac.authorization.k8s.io": _ROLE for kind in ("roles", "clusterroles")},
    **{f"{kind}.rbac.authorization.k8s.io": _BINDING for kind in ("rolebindings", "clusterrolebindings")},
    "leases.coordination.k8s.io": ((NAME, Column("Holder"), AGE), _lease),
    "events": (
        (
            Column("Last Seen"), Column("Type"), Column("Reason"), Column("Object"),
            *_wide("Subobject", "Source"), Column("Message"), *_wide("First Seen", "Count"),
            Column("Name", format="name", priority=1),
        ),
        _event,
    ),
    "customresourcedefinitions.apiextensions.k8s.io": (
        (NAME, Column("Created At", type="date")),
        _definition,
    ),
}  # fmt: skip
