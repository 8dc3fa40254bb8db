"""What is wrong with the values of an object of a built-in kind that is about to be stored.

This module decides for metadata and the small kinds; Services, endpoints and workloads have modules of
their own (`validation_*`). Shape and types are checked before, by `schemas`; cluster addresses and node
ports by those who allocate them. The sentences are those of a Kubernetes 1.34 server.
"""

from collections.abc import Callable, Iterator, Mapping

from mcs.sandbox.apply.causes import (
    Cause,
    forbidden,
    immutable,
    invalid,
    invalid_each,
    negative,
    required,
)
from mcs.sandbox.apply.formats import config_key_errors, qualified_name_errors
from mcs.sandbox.apply.schemas import Object
from mcs.sandbox.apply.validation_endpoints import invalid_endpoint_slice, invalid_endpoints
from mcs.sandbox.apply.validation_metadata import invalid_metadata, unqualified_finalizers
from mcs.sandbox.apply.validation_pod import invalid_pod
from mcs.sandbox.apply.validation_service import invalid_service
from mcs.sandbox.apply.validation_workloads import (
    invalid_deployment,
    invalid_replica_set,
    invalid_stateful_set,
)

__all__ = ["Cause", "invalid_fields"]

_Check = Callable[[Object, Object | None], Iterator[Cause]]


def invalid_fields(group: str, kind: str, obj: Object, old: Object | None) -> list[Cause]:
    """The causes for a 422 Status, in the server's order; `old` is None in a create. Empty when all is well.

    The object is expected to have its defaults. Kinds that are not built in are checked for their
    metadata only.
    """
    before = old["metadata"] if old is not None else None
    plain = group == "apiextensions.k8s.io"
    metadata = invalid_metadata(obj["metadata"], before, plain_finalizers=plain)
    check = _CHECKS.get((group, kind))
    return [*metadata, *(check(obj, old) if check is not None else ())]


def _invalid_config_map(config_map: Object, old: Object | None) -> Iterator[Cause]:
    data, binary = config_map.get("data") or {}, config_map.get("binaryData") or {}
    if old is not None:
        yield from _changed_when_immutable(config_map, old, "data", "binaryData")
    for name, values in (("data", data), ("binaryData", binary)):
        for key in values:
            yield from invalid_each(f"{name}[{key}]", key, config_key_errors(key))
            if name == "data" and key in binary:
                yield invalid(f"data[{key}]", key, "duplicate of key present in binaryData")


_SECRET_KEYS: Mapping[str, tuple[str, ...]] = {
    "kubernetes.io/tls": ("tls.crt", "tls.key"),
    "kubernetes.io/dockerconfigjson": (".dockerconfigjson",),
    "kubernetes.io/dockercfg": (".dockercfg",),
    "kubernetes.io/ssh-auth": ("ssh-privatekey",),
}


def _invalid_secret(secret: Object, old: Object | None) -> Iterator[Cause]:
    data, kind = secret.get("data") or {}, secret.get("type", "")
    if old is not None:
        yield from immutable("type", kind, old.get("type", ""))
        yield from _changed_when_immutable(secret, old, "data")
    for key in data:
        yield from invalid_each(f"data[{key}]", key, config_key_errors(key))
    yield from (required(f"data[{key}]") for key in _SECRET_KEYS.get(kind, ()) if key not in data)
    if kind == "kubernetes.io/basic-auth" and not {"username", "password"} & set(data):
        yield from (required("data[username]"), required("data[password]"))
    account = "kubernetes.io/service-account.name"
    annotations = secret["metadata"].get("annotations") or {}
    if kind == "kubernetes.io/service-account-token" and not annotations.get(account):
        yield required(f"metadata.annotations[{account}]")


def _changed_when_immutable(obj: Object, old: Object, *names: str) -> Iterator[Cause]:
    if not old.get("immutable"):
        return
    why = "field is immutable when `immutable` is set"
    if not obj.get("immutable"):
        yield forbidden("immutable", why)
    yield from (forbidden(name, why) for name in names if (obj.get(name) or {}) != (old.get(name) or {}))


def _invalid_namespace(namespace: Object, _old: Object | None) -> Iterator[Cause]:
    for name in (namespace.get("spec") or {}).get("finalizers") or ():
        yield from invalid_each("spec.finalizers", name, qualified_name_errors(name))
        yield from unqualified_finalizers([name], "spec.finalizers", indexed=False)


def _invalid_lease(lease: Object, _old: Object | None) -> Iterator[Cause]:
    spec = lease.get("spec") or {}
    duration = spec.get("leaseDurationSeconds")
    if duration is not None and duration <= 0:
        yield invalid("spec.leaseDurationSeconds", duration, "must be greater than 0")
    yield from negative(spec, "spec", "leaseTransitions")


def _invalid_event(event: Object, _old: Object | None) -> Iterator[Cause]:
    about = event["involvedObject"].get("namespace", "")
    if about and about != event["metadata"].get("namespace", about):
        yield invalid("involvedObject.namespace", about, "does not match event.namespace")


_CHECKS: Mapping[tuple[str, str], _Check] = {
    ("", "ConfigMap"): _invalid_config_map,
    ("", "Endpoints"): invalid_endpoints,
    ("", "Event"): _invalid_event,
    ("", "Namespace"): _invalid_namespace,
    ("", "Pod"): invalid_pod,
    ("", "Secret"): _invalid_secret,
    ("", "Service"): invalid_service,
    ("apps", "Deployment"): invalid_deployment,
    ("apps", "ReplicaSet"): invalid_replica_set,
    ("apps", "StatefulSet"): invalid_stateful_set,
    ("coordination.k8s.io", "Lease"): _invalid_lease,
    ("discovery.k8s.io", "EndpointSlice"): invalid_endpoint_slice,
}
