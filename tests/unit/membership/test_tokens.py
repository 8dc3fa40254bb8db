"""What a token says of its life, when it is replaced, and what its condition then tells."""

from __future__ import annotations

import base64
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from mcs.membership.tokens import TokenLife, is_due, token_life, told_of

ISSUED = datetime(2026, 6, 1, tzinfo=UTC)
WEEK = TokenLife("kube-federation-system", "mcs-hub", ISSUED, ISSUED + timedelta(days=7))


def token(**claims: Any) -> bytes:
    payload = base64.urlsafe_b64encode(json.dumps(claims).encode()).rstrip(b"=")
    return b"head." + payload + b".signature"


def of_account(sub: str, *, days: float = 7) -> bytes:
    issued = int(ISSUED.timestamp())
    return token(sub=sub, iat=issued, exp=issued + days * 86400)


def test_the_life_of_a_token_is_read_from_it() -> None:
    found = token_life(of_account("system:serviceaccount:kube-federation-system:mcs-hub") + b"\n")
    assert found == WEEK
    assert found.seconds == 604800
    assert found.refresh_at == ISSUED + timedelta(days=5.6)


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"static-token",
        b"a.b.c",
        b"a.%%%.c",
        token(),
        token(sub="system:serviceaccount:ns:name"),
        token(sub="system:serviceaccount:ns:name", iat=1),
        token(sub="system:serviceaccount:ns:name", iat=5, exp=5),
        token(sub="system:serviceaccount:ns:name", iat=0, exp=1e300),
        of_account("system:node:a"),
        of_account("system:serviceaccount:ns"),
        of_account("system:serviceaccount::name"),
    ],
    ids=range(12),
)
def test_what_never_expires_or_is_no_token_of_an_account_is_not_to_be_replaced(text: bytes) -> None:
    assert token_life(text) is None


@pytest.mark.parametrize(
    ("days", "expected"), [(0, False), (5.59, False), (5.6, True), (6.9, True), (8, True)]
)
def test_it_is_due_at_80_percent_of_its_life(days: float, expected: bool) -> None:
    assert is_due(WEEK, ISSUED + timedelta(days=days)) == expected


@pytest.mark.parametrize(
    ("days", "failure", "holds", "reason", "told"),
    [
        (
            1,
            "",
            False,
            "TokenValid",
            "expires at 2026-06-08T00:00:00Z; it is replaced from 2026-06-06T14:24:00Z on",
        ),
        (1, "unreachable", False, "TokenValid", "is replaced from"),
        (6, "", False, "TokenValid", "is replaced from"),
        (6, "unreachable", True, "TokenNotRefreshed", "cannot be replaced: unreachable"),
        (7, "unreachable", True, "TokenExpired", "has expired at 2026-06-08T00:00:00Z; run mcs join again"),
    ],
)
def test_the_condition_tells_when_it_expires_and_what_to_do(
    days: float, failure: str, holds: bool, reason: str, told: str
) -> None:
    found = told_of(WEEK, ISSUED + timedelta(days=days), failure)
    assert found[:3] == ("TokenExpiring", holds, reason)
    assert told in found[3]
