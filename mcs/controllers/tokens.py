"""Replaces the tokens that members were registered with before they expire: ask the member, store in the host.

When a token is due is decided in `mcs.membership.tokens`. Tokens of Secrets that are not ours are left to who put them
there. No token is ever logged, nor is any of it part of what is told.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from typing import Protocol

import structlog
from msgspec import Struct

from mcs.kube.errors import KubeError, NotLeading
from mcs.membership.tokens import TokenLife, Told, is_due, replacement, token_life, told_of
from mcs.model.actions import Patch
from mcs.model.names import ClusterId
from mcs.model.registration import TOKEN_KEY, Secret

log = structlog.get_logger(__name__)

PERIOD = 60.0
"""Seconds between two looks at the tokens; the shortest life leaves twice that when a token is due."""
PATIENCE = 30.0
"""Seconds in which a member must have issued a token."""


class Issuer(Protocol):
    """What is asked for a token (`mcs.kube.client.Client` is one)."""

    async def create_token(self, namespace: str, account: str, seconds: int) -> str: ...


class Held(Struct, frozen=True):
    """The Secret that a member is registered with, and how the member is asked."""

    cluster: ClusterId
    secret: Secret
    open_member: Callable[[], AbstractAsyncContextManager[Issuer]]


class TokenKeeper:
    """Keeps the tokens of the members that `observe` gives from expiring; `store` writes to the host.

    `on_change` is called when what there is to tell of a member has changed. While it may not write, because another
    replica leads, it replaces nothing and tells all the same.
    """

    def __init__(
        self,
        host: ClusterId,
        observe: Callable[[], Sequence[Held]],
        store: Callable[[Patch], Awaitable[None]],
        clock: Callable[[], datetime],
        on_change: Callable[[], None],
        may_write: Callable[[], bool] = lambda: True,
    ) -> None:
        self._host = host
        self._observe = observe
        self._store = store
        self._clock = clock
        self._on_change = on_change
        self._may_write = may_write
        self._failures: dict[ClusterId, str] = {}
        self._told: dict[ClusterId, Told] = {}

    @property
    def lives(self) -> Mapping[ClusterId, TokenLife]:
        """How long the token of each member is valid, of those that are replaced from here."""
        lives = ((each.cluster, _life(each)) for each in self._observe())
        return {cluster: life for cluster, life in lives if life is not None}

    def told(self, cluster: ClusterId) -> tuple[Told, ...]:
        """What the registration of a member is to say of its token; nothing while that is not known."""
        return (self._told[cluster],) if cluster in self._told else ()

    async def run(self) -> None:
        """Look again and again until cancelled. No member that does not answer keeps another one waiting."""
        while True:
            await self.look()
            await asyncio.sleep(PERIOD)

    async def look(self) -> None:
        """Replace every token that is due, once."""
        now = self._clock()
        held = {each.cluster: (each, life) for each in self._observe() if (life := _life(each)) is not None}
        self._failures = {cluster: why for cluster, why in self._failures.items() if cluster in held}
        if self._may_write():
            await asyncio.gather(*(self._replace(*pair) for pair in held.values() if is_due(pair[1], now)))
        told = {
            cluster: told_of(life, self._clock(), self._failures.get(cluster, ""))
            for cluster, life in self.lives.items()
        }
        if told != self._told:
            self._told = told
            self._on_change()

    async def _replace(self, held: Held, life: TokenLife) -> None:
        cluster = held.cluster
        try:
            async with asyncio.timeout(PATIENCE), held.open_member() as member:
                token = await member.create_token(life.namespace, life.account, life.seconds)
            new = token_life(token.encode())
            if new is not None and new.expires <= life.expires:
                self._fail(cluster, "the API server issues no token that is valid for longer")
                return
            await self._store(replacement(held.secret, token, self._host))
        except NotLeading:
            return
        except TimeoutError:
            self._fail(cluster, f"no answer within {PATIENCE:g} s")
        except KubeError as error:
            self._fail(cluster, " ".join(str(error).split()))
        else:
            self._failures.pop(cluster, None)
            log.info("token replaced", cluster=cluster, expires=new.expires.isoformat() if new else "never")

    def _fail(self, cluster: ClusterId, why: str) -> None:
        if self._failures.get(cluster) != why:
            log.warning("token not replaced", cluster=cluster, error=why)
        self._failures[cluster] = why


def _life(held: Held) -> TokenLife | None:
    return token_life(held.secret.data.get(TOKEN_KEY, b"")) if held.secret.is_ours else None
