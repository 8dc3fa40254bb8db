"""What can be read besides objects: health, version, discovery and OpenAPI, by path.

Source: Kubernetes API concepts, "API discovery", "OpenAPI interface definition"; "Kubernetes API health endpoints".
"""

from dataclasses import dataclass
from typing import Any

import msgspec

from mcs.sandbox.http import discovery, openapi
from mcs.sandbox.http.negotiation import JSON, media_types
from mcs.sandbox.resources import Registry


@dataclass(frozen=True, slots=True)
class Document:
    """A body and its content type."""

    body: bytes
    content_type: str = JSON


def document(path: str, accept: str, address: str, registry: Registry) -> Document | None:
    """The document at a path, or None; `address` is how the client reached the server."""
    match path.strip("/").split("/"):
        case ["healthz" | "livez" | "readyz"]:
            return Document(b"ok", "text/plain; charset=utf-8")
        case ["version"]:
            return _json(discovery.VERSION)
        case ["openapi", "v2"]:
            return Document(openapi.V2_DOCUMENT, openapi.V2_TYPE)
        case ["openapi", "v3", *rest]:
            return _openapi(rest, registry)
        case ["api" | "apis" as root] if _wants_aggregated(accept):
            found = discovery.aggregated(registry, core=root == "api")
            return Document(msgspec.json.encode(found), discovery.AGGREGATED)
        case ["api" | "apis" as root, *rest]:
            return _json(_plain_discovery(root, rest, address, registry))
        case _:
            return None


def _json(found: Any) -> Document | None:
    return None if found is None else Document(msgspec.json.encode(found) + b"\n")


def _openapi(rest: list[str], registry: Registry) -> Document | None:
    match rest:
        case []:
            index = msgspec.json.encode(openapi.v3_index(registry))
            return Document(index, "text/plain; charset=utf-8")
        case ["apis", group, version]:
            return _json(openapi.v3_document(registry, group, version))
        case _:
            return None


def _plain_discovery(root: str, rest: list[str], address: str, registry: Registry) -> Any:
    match root, rest:
        case "api", []:
            return discovery.api_versions(address)
        case "api", [version]:
            return discovery.api_resource_list(registry, "", version)
        case "apis", []:
            return discovery.api_group_list(registry)
        case "apis", [group]:
            return discovery.api_group(registry, group)
        case "apis", [group, version]:
            return discovery.api_resource_list(registry, group, version)
        case _:
            return None


def _wants_aggregated(accept: str) -> bool:
    for kind, parameters in media_types(accept):
        if kind == JSON and parameters.get("as") == "APIGroupDiscoveryList":
            if parameters.get("v") == "v2":
                return True
        elif kind == JSON:
            return False
    return False
