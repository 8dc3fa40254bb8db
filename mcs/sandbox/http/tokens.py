"""TokenRequest: tokens for ServiceAccounts that this server accepts from then on.

Source: Kubernetes API reference, TokenRequest v1; RFC 7519. The tokens tell their times as real ones do, but nobody has
signed them, and one stays valid after its time: nothing in the sandbox looks at a clock of the wall.
"""

import base64
import json
import secrets
from collections.abc import MutableMapping
from datetime import datetime, timedelta
from typing import Any

from mcs.model.meta import timestamp
from mcs.sandbox.errors import Cause, bad_request, invalid
from mcs.sandbox.resources import ResourceType
from mcs.sandbox.store import Object

_TOKEN_REQUEST = ResourceType(
    "authentication.k8s.io", "v1", "tokenrequests", "tokenrequest", "TokenRequest", namespaced=True
)
_SHORTEST, _DEFAULT = 600, 3600


def issue(account: Object, request: Any, tokens: MutableMapping[str, str], now: datetime) -> Object:
    """The TokenRequest with its status; the token is added to `tokens`. Raises BadRequest or Invalid."""
    if not isinstance(request, dict):
        raise bad_request("expected a TokenRequest")
    spec = request.get("spec") or {}
    seconds = spec.get("expirationSeconds", _DEFAULT)
    if not isinstance(seconds, int) or seconds < _SHORTEST:
        told = f"Invalid value: {seconds}: may not specify a duration less than 10 minutes"
        cause = Cause("FieldValueInvalid", told, "spec.expirationSeconds")
        raise invalid(_TOKEN_REQUEST, "", [cause])
    metadata = account["metadata"]
    user = f"system:serviceaccount:{metadata['namespace']}:{metadata['name']}"
    issued, expires = now, now + timedelta(seconds=seconds)
    claims = {"sub": user, "iat": int(issued.timestamp()), "exp": int(expires.timestamp())}
    parts = (_encoded({"alg": "none"}), _encoded(claims), secrets.token_urlsafe(16))
    token = ".".join(parts)
    tokens[token] = user
    return {
        "kind": "TokenRequest",
        "apiVersion": "authentication.k8s.io/v1",
        "metadata": {"name": metadata["name"], "namespace": metadata["namespace"]},
        "spec": {**spec, "expirationSeconds": seconds},
        "status": {"token": token, "expirationTimestamp": timestamp(expires)},
    }


def _encoded(part: dict[str, Any]) -> str:
    return base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=")
