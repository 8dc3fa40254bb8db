"""What a server warns about when it stores an object, although it stores it: the Warning header.

Unknown fields and deprecated versions are told where requests are decoded. (Kubernetes API concepts,
"API server warnings".)
"""

from collections.abc import Iterator

from mcs.sandbox.apply.schemas import Object


def admonitions(group: str, kind: str, obj: Object) -> Iterator[str]:
    """The sentences about an object of a built-in kind that has its defaults."""
    spec = obj.get("spec") or {}
    match group, kind:
        case "", "Service" if spec.get("clusterIP") == "None" and spec.get("sessionAffinity") == "ClientIP":
            yield "spec.SessionAffinity is ignored for headless services"
        case "discovery.k8s.io", "EndpointSlice" if obj.get("addressType") == "FQDN":
            yield "spec.addressType: FQDN endpoints are deprecated"
        case _:
            return
