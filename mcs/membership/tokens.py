"""When the token of a member's ServiceAccount is to be replaced, from what the token says of itself.

Nothing is verified: the API server that issued a token does that. Source: RFC 7519 (claims iat and exp, whole
seconds of
Unix time), Kubernetes TokenRequest. Asking for tokens and storing them is left to others.
"""

import base64
import binascii
from datetime import UTC, datetime, timedelta

import msgspec
from msgspec import Struct

from mcs.model.actions import Patch
from mcs.model.meta import timestamp
from mcs.model.names import ClusterId
from mcs.model.registration import TOKEN_KEY, Secret
from mcs.model.resources import SECRETS

TOKEN_EXPIRING = "TokenExpiring"
"""Type of the condition of a KubeFedCluster that tells when its token expires; KubeFed has no such condition."""

Told = tuple[str, bool, str, str]
"""A condition without its times: type, whether it holds, reason and message."""

TOKEN_LIFE = timedelta(days=7)
"""How long a token is asked to be valid, unless the user says otherwise."""
SHORTEST_LIFE = timedelta(minutes=10)
"""Below it, API servers refuse a TokenRequest."""

_REFRESHED_AFTER = 0.8
"""The part of its life after which a token is replaced."""
_ACCOUNT = "system:serviceaccount:"


class TokenLife(Struct, frozen=True):
    """Whom a token stands for, and from when until when."""

    namespace: str
    account: str
    issued: datetime
    expires: datetime

    @property
    def seconds(self) -> int:
        """How long it is valid in all; its successor is asked to be valid as long."""
        return round((self.expires - self.issued).total_seconds())

    @property
    def refresh_at(self) -> datetime:
        """The moment from which it is to be replaced."""
        return self.issued + _REFRESHED_AFTER * (self.expires - self.issued)


class _Claims(Struct):
    sub: str
    iat: float
    exp: float


def token_life(token: bytes) -> TokenLife | None:
    """What a token says of itself; None for one that never expires, or is no token of a ServiceAccount."""
    parts = token.strip().split(b".")
    if len(parts) != 3:
        return None
    try:
        payload = base64.urlsafe_b64decode(parts[1] + b"=" * (-len(parts[1]) % 4))
        claims = msgspec.json.decode(payload, type=_Claims)
        issued, expires = (datetime.fromtimestamp(moment, UTC) for moment in (claims.iat, claims.exp))
    except (binascii.Error, msgspec.MsgspecError, UnicodeDecodeError, OverflowError, ValueError, OSError):
        return None
    namespace, colon, account = claims.sub.removeprefix(_ACCOUNT).partition(":")
    if not claims.sub.startswith(_ACCOUNT) or not (namespace and colon and account) or expires <= issued:
        return None
    return TokenLife(namespace, account, issued, expires)


def is_due(life: TokenLife, now: datetime) -> bool:
    """Whether the token is to be replaced."""
    return now >= life.refresh_at


def told_of(life: TokenLife, now: datetime, failure: str = "") -> Told:
    """What the condition TokenExpiring says: that is True once the token cannot be replaced in time, or has expired.

    `failure` is why the last attempt to replace it failed.
    """
    end = timestamp(life.expires)
    if now >= life.expires:
        return (
            TOKEN_EXPIRING,
            True,
            "TokenExpired",
            f"The token has expired at {end}; run mcs join again for a new one.",
        )
    if failure and is_due(life, now):
        message = f"The token expires at {end} and cannot be replaced: {failure}"
        return TOKEN_EXPIRING, True, "TokenNotRefreshed", message
    message = f"The token expires at {end}; it is replaced from {timestamp(life.refresh_at)} on."
    return TOKEN_EXPIRING, False, "TokenValid", message


def replacement(secret: Secret, token: str, host: ClusterId) -> Patch:
    """What puts a new token in the place of the one in this Secret, as long as nobody else has changed it."""
    metadata = secret.metadata
    return Patch(
        cluster=host,
        resource=SECRETS,
        namespace=metadata.namespace,
        name=metadata.name,
        changes={
            "metadata": {"resourceVersion": metadata.resource_version},
            "data": {TOKEN_KEY: base64.b64encode(token.encode()).decode()},
        },
    )
