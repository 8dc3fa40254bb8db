"""The objects that the MCS conformance specifications create, each time as new values.

Two things differ from the suite's own, and neither is judged: nobody waits for pods to end in grace, and the
servers read before they answer, as one that closes first makes a client's write fail now and then.
"""

from __future__ import annotations

from typing import Any

from tests.lab.images import NETSHOOT, SOCAT
from tests.real.conformance.api import Object

HELLO = "hello"
PORT = 42
_LABELS = {"app": HELLO}


def service(**spec: Any) -> Object:
    """The Service `hello`; a keyword replaces a field of its spec, None leaves the field out."""
    fields = {
        "selector": _LABELS,
        "ports": [port("tcp", PORT), port("udp", PORT, "UDP")],
        "sessionAffinity": "ClientIP",
        "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 10}},
        "ipFamilyPolicy": "PreferDualStack",
    } | spec
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": _marked("dummy-svc"),
        "spec": {name: value for name, value in fields.items() if value is not None},
    }


def port(name: str, number: int, protocol: str = "TCP") -> Object:
    """One port of a Service; its servers always listen at PORT."""
    return {"name": name, "port": number, "protocol": protocol, "targetPort": PORT}


def export(**spec: Any) -> Object:
    """The ServiceExport `hello`."""
    return {
        "apiVersion": "multicluster.x-k8s.io/v1beta1",
        "kind": "ServiceExport",
        "metadata": _marked("dummy-svcexport"),
        "spec": spec,
    }


def deployment(replicas: int = 1) -> Object:
    """The Deployment behind `hello`."""
    return _workload("Deployment", {"replicas": replicas})


def stateful_set(replicas: int) -> Object:
    """A StatefulSet behind `hello`, whose pods have hostnames."""
    return _workload("StatefulSet", {"replicas": replicas, "serviceName": HELLO})


def request_pod(name: str) -> Object:
    """The Pod that commands are run in."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"app": name}},
        "spec": {
            "terminationGracePeriodSeconds": 0,
            "containers": [
                {
                    "name": name,
                    "image": NETSHOOT,
                    "command": ["/bin/sh", "-ec", "while :; do echo .; sleep 5; done"],
                }
            ],
        },
    }


def _workload(kind: str, spec: Object) -> Object:
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": HELLO},
        "spec": {
            "selector": {"matchLabels": _LABELS},
            "template": {
                "metadata": {"labels": _LABELS},
                "spec": {
                    "terminationGracePeriodSeconds": 0,
                    "containers": [_server("TCP"), _server("UDP")],
                },
            },
        }
        | spec,
    }


def _server(protocol: str) -> Object:
    return {
        "name": f"{HELLO}-{protocol.lower()}",
        "image": SOCAT,
        "args": [
            f"{protocol}6-LISTEN:{PORT},ipv6only=0,reuseaddr,fork",
            "SYSTEM:read line; echo pod ip $(MY_POD_IP)",
        ],
        "env": [{"name": "MY_POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}],
    }


def _marked(mark: str) -> Object:
    return {"name": HELLO, "labels": {mark: "dummy"}, "annotations": {mark: "dummy"}}
