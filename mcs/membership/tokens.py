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

from mcs.model.meta import timestamp
from mcs.model.registration import ClusterCondition

CREDENTIALS_VALID = "CredentialsValid"
"""Type of the condition of a KubeFedCluster that tells when its token expires."""

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


def expiry_condition(
    life: TokenLife, now: datetime, failure: str = "", present: ClusterCondition | None = None
) -> ClusterCondition:
    """CredentialsValid: True while the token is valid, with a reason of its own while it cannot be replaced.

    `failure` is why the last attempt to replace it failed. The time of transition is that of `present` while the status
    stays.
    """
    end = f"The token expires at {timestamp(life.expires)}"
    if now >= life.expires:
        status, reason = "False", "TokenExpired"
        message = f"{end.replace('expires', 'expired')}; run mcs join again for a new one."
    elif failure and is_due(life, now):
        status, reason = "True", "TokenNotRefreshed"
        message = f"{end} and cannot be replaced: {failure}"
    else:
        status, reason = "True", "TokenValid"
        message = f"{end}; it is replaced from {timestamp(life.refresh_at)} on."
    changed = present is None or present.status != status
    return ClusterCondition(
        type=CREDENTIALS_VALID,
        status="True" if status == "True" else "False",
        reason=reason,
        message=message,
        last_probe_time=timestamp(now),
        last_transition_time=timestamp(now) if changed or present is None else present.last_transition_time,
    )


def is_same(present: ClusterCondition | None, wanted: ClusterCondition) -> bool:
    """Whether a condition says what is wanted already, whatever its times."""
    return present is not None and (present.status, present.reason, present.message) == (
        wanted.status,
        wanted.reason,
        wanted.message,
    )
