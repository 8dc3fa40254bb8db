"""Defaults of Pods, pod templates and volume claims: containers, probes, volumes and scheduling.

The functions fill in the value they are given, which is a private copy of `defaults`. What admission adds
to a Pod (tolerations, priority, service account) is not a default and left to others. (Kubernetes API
reference, "Pod".)
"""

from typing import Any

from mcs.sandbox.apply.schemas import Object

_FILE_MODE = 0o644


def filled(node: Object, **defaults: Any) -> None:
    """Sets each default whose field is not there."""
    for name, value in defaults.items():
        node.setdefault(name, value)


def fill_pod_spec(spec: Object) -> None:
    """Fills in what every Pod and pod template gets."""
    filled(
        spec,
        restartPolicy="Always",
        terminationGracePeriodSeconds=30,
        dnsPolicy="ClusterFirst",
        securityContext={},
        schedulerName="default-scheduler",
    )
    if account := spec.get("serviceAccountName") or spec.get("serviceAccount"):
        spec["serviceAccountName"] = spec["serviceAccount"] = account
    for container in [*(spec.get("initContainers") or ()), *(spec.get("containers") or ())]:
        _fill_container(container)
    for container in spec.get("ephemeralContainers") or ():
        _fill_container(container)
    for volume in spec.get("volumes") or ():
        _fill_volume(volume)


def fill_claim(claim: Object) -> None:
    """Fills in the spec of a volume claim."""
    filled(claim, volumeMode="Filesystem")


def limits_requested(spec: Object) -> None:
    """Requests what is limited, for each resource of a Pod whose request is not given."""
    for container in [*(spec.get("initContainers") or ()), *(spec.get("containers") or ())]:
        resources = container["resources"]
        if limits := resources.get("limits"):
            resources["requests"] = {**limits, **resources.get("requests", {})}


def fill_host_ports(spec: Object) -> None:
    """Gives the ports of a Pod in the network of its node their own numbers there; templates do without."""
    if not spec.get("hostNetwork"):
        return
    for container in [*(spec.get("initContainers") or ()), *(spec.get("containers") or ())]:
        for port in container.get("ports", ()):
            filled(port, hostPort=port["containerPort"])


def _fill_container(container: Object) -> None:
    filled(
        container,
        imagePullPolicy=_pull_policy(container.get("image", "")),
        terminationMessagePath="/dev/termination-log",
        terminationMessagePolicy="File",
    )
    for port in container.get("ports", ()):
        filled(port, protocol="TCP")
    for variable in container.get("env", ()):
        if reference := variable.get("valueFrom", {}).get("fieldRef"):
            filled(reference, apiVersion="v1")
    for name in ("livenessProbe", "readinessProbe", "startupProbe"):
        if name in container:
            _fill_probe(container[name])
    for handler in container.get("lifecycle", {}).values():
        if isinstance(handler, dict):
            _fill_handler(handler)
    if "procMount" in (context := container.get("securityContext", {})):
        context["procMount"] = context["procMount"] or "Default"


def _pull_policy(image: str) -> str:
    """Always for the tag `latest` and for no tag at all (Kubernetes, "Images", image pull policy)."""
    name, _, digest = image.partition("@")
    tag = name.rpartition("/")[2].partition(":")[2]
    return "IfNotPresent" if digest or tag not in ("", "latest") else "Always"


def _fill_probe(probe: Object) -> None:
    filled(probe, timeoutSeconds=1, periodSeconds=10, successThreshold=1, failureThreshold=3)
    _fill_handler(probe)


def _fill_handler(handler: Object) -> None:
    if "httpGet" in handler:
        filled(handler["httpGet"], path="/", scheme="HTTP")
    if "grpc" in handler:
        filled(handler["grpc"], service="")


_MODED = ("configMap", "secret", "downwardAPI", "projected")


def _fill_volume(volume: Object) -> None:
    if set(volume) == {"name"}:
        volume["emptyDir"] = {}
    for source in _MODED:
        if source in volume:
            filled(volume[source], defaultMode=_FILE_MODE)
    if "hostPath" in volume:
        filled(volume["hostPath"], type="")
    if "iscsi" in volume:
        filled(volume["iscsi"], iscsiInterface="default")
    if "rbd" in volume:
        filled(volume["rbd"], pool="rbd", user="admin", keyring="/etc/ceph/keyring")
    template = volume.get("ephemeral", {}).get("volumeClaimTemplate")
    if template is not None:
        fill_claim(template["spec"])
    for item in volume.get("downwardAPI", {}).get("items", ()):
        _fill_downward_item(item)
    for source in volume.get("projected", {}).get("sources") or ():
        if "serviceAccountToken" in source:
            filled(source["serviceAccountToken"], expirationSeconds=3600)
        for item in source.get("downwardAPI", {}).get("items", ()):
            _fill_downward_item(item)


def _fill_downward_item(item: Object) -> None:
    if "fieldRef" in item:
        filled(item["fieldRef"], apiVersion="v1")
