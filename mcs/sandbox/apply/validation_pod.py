"""What may not stand in a Pod or pod template: what people get wrong in containers, ports, probes and
volumes.

The many rules of single volume types and security contexts are left to a real server; the sandbox runs no
containers. (Kubernetes API reference, "Pod".)
"""

from collections.abc import Iterator, Sequence

from mcs.sandbox.apply.causes import (
    Cause,
    duplicate,
    forbidden,
    invalid,
    invalid_each,
    negative,
    not_found,
    not_supported,
    outside_ports,
    required,
)
from mcs.sandbox.apply.formats import (
    environment_name_errors,
    label_errors,
    port_name_errors,
    subdomain_errors,
)
from mcs.sandbox.apply.schemas import Object
from mcs.sandbox.apply.stored import amount_of
from mcs.sandbox.apply.validation_metadata import invalid_labels
from mcs.sandbox.apply.validation_service import PROTOCOLS, invalid_target

RESTART_POLICIES = ("Always", "OnFailure", "Never")
DNS_POLICIES = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
PULL_POLICIES = ("Always", "IfNotPresent", "Never")
HANDLERS = ("exec", "httpGet", "tcpSocket", "grpc")
MUTABLE = ("activeDeadlineSeconds", "tolerations", "terminationGracePeriodSeconds")


def invalid_pod(pod: Object, old: Object | None) -> Iterator[Cause]:
    """Causes for a Pod that has its defaults; an update may change images and little else."""
    yield from invalid_pod_spec(pod["spec"], "spec")
    if old is not None:
        yield from _forbidden_changes(pod["spec"], old["spec"])


def invalid_pod_spec(spec: Object, path: str) -> Iterator[Cause]:
    """Causes for the spec of a Pod or template at `path`."""
    volumes = spec.get("volumes") or []
    yield from _invalid_volumes(volumes, f"{path}.volumes")
    names = [volume["name"] for volume in volumes]
    containers = spec.get("containers") or []
    if not containers:
        yield required(f"{path}.containers")
    yield from _invalid_containers(containers, names, f"{path}.containers")
    yield from _invalid_containers(spec.get("initContainers") or [], names, f"{path}.initContainers")
    if spec["restartPolicy"] not in RESTART_POLICIES:
        yield not_supported(f"{path}.restartPolicy", spec["restartPolicy"], RESTART_POLICIES)
    if spec["dnsPolicy"] not in DNS_POLICIES:
        yield not_supported(f"{path}.dnsPolicy", spec["dnsPolicy"], DNS_POLICIES)
    yield from invalid_labels(spec.get("nodeSelector") or {}, f"{path}.nodeSelector")
    formats = (
        ("serviceAccountName", subdomain_errors),
        ("nodeName", subdomain_errors),
        ("hostname", label_errors),
        ("subdomain", label_errors),
    )
    for name, errors in formats:
        if text := spec.get(name):
            yield from invalid_each(f"{path}.{name}", text, errors(text))
    for index, toleration in enumerate(spec.get("tolerations") or ()):
        if toleration.get("operator", "Equal") not in ("", "Equal", "Exists"):
            where = f"{path}.tolerations[{index}].operator"
            yield not_supported(where, toleration["operator"], ("Equal", "Exists"))


def _invalid_volumes(volumes: Sequence[Object], path: str) -> Iterator[Cause]:
    names: set[str] = set()
    for index, volume in enumerate(volumes):
        where = f"{path}[{index}]"
        yield from _invalid_name(volume["name"], f"{where}.name", names)
        sources = [source for source in volume if source != "name"]
        for source in sorted(sources)[1:]:
            yield forbidden(f"{where}.{source}", "may not specify more than 1 volume type")
        for source, field in (("configMap", "name"), ("secret", "secretName")):
            if source in volume and not volume[source].get(field):
                yield required(f"{where}.{source}.{field}")


def _invalid_name(name: str, path: str, names: set[str]) -> Iterator[Cause]:
    if not name:
        yield required(path)
        return
    yield from invalid_each(path, name, label_errors(name))
    if name in names:
        yield duplicate(path, name)
    names.add(name)


def _invalid_containers(containers: Sequence[Object], volumes: list[str], path: str) -> Iterator[Cause]:
    names: set[str] = set()
    for index, container in enumerate(containers):
        where = f"{path}[{index}]"
        yield from _invalid_name(container["name"], f"{where}.name", names)
        if not container.get("image"):
            yield required(f"{where}.image")
        yield from _invalid_container_ports(container.get("ports") or [], f"{where}.ports")
        yield from _invalid_environment(container.get("env") or [], f"{where}.env")
        yield from _invalid_mounts(container.get("volumeMounts") or [], volumes, f"{where}.volumeMounts")
        if container["imagePullPolicy"] not in PULL_POLICIES:
            yield not_supported(f"{where}.imagePullPolicy", container["imagePullPolicy"], PULL_POLICIES)
        yield from _invalid_resources(container["resources"], f"{where}.resources")
        for probe in ("livenessProbe", "readinessProbe", "startupProbe"):
            if probe in container:
                yield from _invalid_probe(container[probe], f"{where}.{probe}")
                once = probe != "readinessProbe" and container[probe]["successThreshold"] != 1
                if once:
                    found = container[probe]["successThreshold"]
                    yield invalid(f"{where}.{probe}.successThreshold", found, "must be 1")


def _invalid_container_ports(ports: Sequence[Object], path: str) -> Iterator[Cause]:
    names = set()
    for index, port in enumerate(ports):
        where, name = f"{path}[{index}]", port.get("name", "")
        if name:
            malformed = list(port_name_errors(name))
            yield from invalid_each(f"{where}.name", name, malformed)
            if name in names:
                yield duplicate(f"{where}.name", name)
            names.add(name)
        if not port["containerPort"]:
            yield required(f"{where}.containerPort")
        else:
            yield from outside_ports(f"{where}.containerPort", port["containerPort"])
        if port["protocol"] not in PROTOCOLS:
            yield not_supported(f"{where}.protocol", port["protocol"], PROTOCOLS)


def _invalid_environment(variables: Sequence[Object], path: str) -> Iterator[Cause]:
    for index, variable in enumerate(variables):
        where, name = f"{path}[{index}]", variable["name"]
        if not name:
            yield required(f"{where}.name")
        else:
            yield from invalid_each(f"{where}.name", name, environment_name_errors(name))
        if "valueFrom" in variable and variable.get("value"):
            yield invalid(f"{where}.valueFrom", "", "may not be specified when `value` is not empty")


def _invalid_mounts(mounts: Sequence[Object], volumes: list[str], path: str) -> Iterator[Cause]:
    paths = set()
    for index, mount in enumerate(mounts):
        where = f"{path}[{index}]"
        if not mount["name"]:
            yield required(f"{where}.name")
        if mount["name"] not in volumes:
            yield not_found(f"{where}.name", mount["name"])
        if not mount["mountPath"]:
            yield required(f"{where}.mountPath")
        if mount["mountPath"] in paths:
            yield invalid(f"{where}.mountPath", mount["mountPath"], "must be unique")
        paths.add(mount["mountPath"])


def _invalid_resources(resources: Object, path: str) -> Iterator[Cause]:
    limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
    for field, quantities in (("limits", limits), ("requests", requests)):
        for name, quantity in quantities.items():
            amount = amount_of(quantity)
            if amount is not None and amount < 0:
                why = "must be greater than or equal to 0"
                yield invalid(f"{path}.{field}[{name}]", quantity, why)
    for name in sorted(requests.keys() & limits.keys()):
        wanted, most = amount_of(requests[name]), amount_of(limits[name])
        if wanted is not None and most is not None and wanted > most:
            why = f"must be less than or equal to {name} limit of {limits[name]}"
            yield invalid(f"{path}.requests", requests[name], why)


def _invalid_probe(probe: Object, path: str) -> Iterator[Cause]:
    handlers = [handler for handler in HANDLERS if handler in probe]
    if not handlers:
        yield required(path, "must specify a handler type")
    for handler in handlers[1:]:
        yield forbidden(f"{path}.{handler}", "may not specify more than 1 handler type")
    for handler in handlers[:1]:
        if "port" in probe[handler]:
            yield from invalid_target(f"{path}.{handler}.port", probe[handler]["port"])
    counts = (
        "initialDelaySeconds",
        "timeoutSeconds",
        "periodSeconds",
        "successThreshold",
        "failureThreshold",
    )
    yield from negative(probe, path, *counts)


_UPDATE_SENTENCE = (
    "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,"
    "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)


def _forbidden_changes(spec: Object, old: Object) -> Iterator[Cause]:
    for name in ("containers", "initContainers"):
        if len(spec.get(name) or ()) != len(old.get(name) or ()):
            yield forbidden(f"spec.{name}", "pod updates may not add or remove containers")
            return
    # A real server appends the difference between the two versions of its internal type.
    if _fixed(spec) != _fixed(old):
        yield forbidden("spec", _UPDATE_SENTENCE)


def _fixed(spec: Object) -> Object:
    fixed = {name: value for name, value in spec.items() if name not in MUTABLE}
    # The scheduler's choice arrives through a subresource that this comparison does not see.
    fixed.pop("nodeName", None)
    for name in ("containers", "initContainers"):
        fixed[name] = [{**container, "image": ""} for container in spec.get(name) or ()]
    return fixed
