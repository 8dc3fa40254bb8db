"""Tokens are replaced in time, one member's by itself, and what is told of them never shows one."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

from structlog.testing import capture_logs

from mcs.controllers.tokens import Held, TokenKeeper
from mcs.kube.errors import Forbidden
from mcs.model.actions import Patch
from mcs.model.meta import ObjectMeta
from mcs.model.names import ClusterId
from mcs.model.registration import Secret
from mcs.testing.virtual_time import run_virtual

BEGIN = datetime(2026, 6, 1, tzinfo=UTC)
OURS = {"app.kubernetes.io/managed-by": "mcs-controller"}
HOST = ClusterId("host")


def token(issued: datetime, seconds: int) -> str:
    claims = {
        "sub": "system:serviceaccount:system:mcs-hub",
        "iat": int(issued.timestamp()),
        "exp": int(issued.timestamp()) + seconds,
    }
    return f"e30.{base64.urlsafe_b64encode(json.dumps(claims).encode()).decode().rstrip('=')}.s1gnature"


class World:
    """Members with tokens in the host; time passes with the loop's clock."""

    def __init__(self, *clusters: str, seconds: int = 3600, labels: dict[str, str] = OURS) -> None:
        self.secrets = {
            ClusterId(name): Secret(
                metadata=ObjectMeta(
                    name=f"{name}-token", namespace="system", resource_version="1", labels=labels
                ),
                data={"token": token(BEGIN, seconds).encode()},
            )
            for name in clusters
        }
        self.asked: list[tuple[str, str, str, int]] = []
        self.stored: list[tuple[float, str]] = []
        self.errors: dict[str, Exception] = {}
        self.silent: set[str] = set()
        self.life: int | None = None
        self.changes = 0
        self.is_leading = True
        self.keeper = TokenKeeper(
            HOST, self.held, self.store, self.now, self.changed, lambda: self.is_leading
        )

    def begin(self) -> None:
        self.began = asyncio.get_running_loop().time()

    @property
    def seconds(self) -> float:
        return asyncio.get_running_loop().time() - self.began

    def now(self) -> datetime:
        return BEGIN + timedelta(seconds=self.seconds)

    def changed(self) -> None:
        self.changes += 1

    def held(self) -> list[Held]:
        return [Held(cluster, secret, self.opener(cluster)) for cluster, secret in self.secrets.items()]

    def opener(self, cluster: ClusterId) -> Any:
        @asynccontextmanager
        async def open_member() -> AsyncIterator[Any]:
            yield Issuer(self, cluster)

        return open_member

    async def store(self, patch: Patch) -> None:
        (cluster,) = (key for key, each in self.secrets.items() if each.metadata.name == patch.name)
        assert patch.changes["metadata"] == {
            "resourceVersion": self.secrets[cluster].metadata.resource_version
        }
        metadata = self.secrets[cluster].metadata
        data = {key: base64.b64decode(value) for key, value in patch.changes["data"].items()}
        self.secrets[cluster] = Secret(metadata=metadata, data=data)
        self.stored.append((self.seconds, cluster))


class Issuer:
    def __init__(self, world: World, cluster: ClusterId) -> None:
        self._world, self._cluster = world, cluster

    async def create_token(self, namespace: str, account: str, seconds: int) -> str:
        world = self._world
        world.asked.append((self._cluster, namespace, account, seconds))
        if self._cluster in world.silent:
            await asyncio.Event().wait()
        if error := world.errors.get(self._cluster):
            raise error
        return token(world.now(), seconds if world.life is None else world.life)


def kept(world: World, seconds: float) -> list[Any]:
    """What is logged while the keeper works for so long."""

    async def run() -> None:
        world.begin()
        task = asyncio.create_task(world.keeper.run(), name="tokens")
        await asyncio.sleep(seconds)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    with capture_logs() as logs:
        run_virtual(run())
    return list(logs)


def test_a_token_is_replaced_at_80_percent_of_its_life_by_one_of_the_same_length() -> None:
    world = World("eu")
    kept(world, 3 * 3600)
    assert [(when, name) for when, name in world.stored] == [(2880, "eu"), (5760, "eu"), (8640, "eu")]
    assert set(world.asked) == {("eu", "system", "mcs-hub", 3600)}


def test_a_member_that_does_not_answer_keeps_no_other_waiting() -> None:
    world = World("eu", "us")
    world.silent.add("eu")
    logs = kept(world, 3500)
    assert world.stored == [(2880, "us")]
    (told,) = world.keeper.told(ClusterId("eu"))
    assert told == (
        "TokenExpiring",
        True,
        "TokenNotRefreshed",
        "The token expires at 2026-06-01T01:00:00Z and cannot be replaced: no answer within 30 s",
    )
    assert [each["event"] for each in logs if each.get("cluster") == "eu"] == ["token not replaced"]


def test_what_a_member_refuses_is_told_until_it_is_granted() -> None:
    world = World("eu")
    world.errors["eu"] = Forbidden(403, "Forbidden", "may not create tokens")
    kept(world, 3000)
    (told,) = world.keeper.told(ClusterId("eu"))
    assert told[1:3] == (True, "TokenNotRefreshed")
    assert "may not create tokens" in told[3]
    assert world.changes == 2
    world.errors.clear()

    async def once() -> None:
        world.begin()
        await asyncio.sleep(3100)
        await world.keeper.look()

    run_virtual(once())
    (told,) = world.keeper.told(ClusterId("eu"))
    assert told[1:3] == (False, "TokenValid")


def test_a_token_that_is_no_longer_valid_than_the_old_one_is_not_stored() -> None:
    world = World("eu")
    world.life = 600
    kept(world, 2900)
    assert world.stored == []
    (told,) = world.keeper.told(ClusterId("eu"))
    assert "no token that is valid for longer" in told[3]


def test_tokens_that_others_put_there_are_theirs() -> None:
    world = World("eu", labels={})
    kept(world, 7200)
    assert (world.asked, world.keeper.lives, world.keeper.told(ClusterId("eu"))) == ([], {}, ())


def test_a_standby_asks_for_no_token_and_tells_until_when_there_is_one() -> None:
    world = World("eu")
    world.is_leading = False
    logs = kept(world, 3500)
    assert (world.asked, logs) == ([], [])
    (told,) = world.keeper.told(ClusterId("eu"))
    assert told[1:3] == (False, "TokenValid")


def test_no_token_is_logged() -> None:
    world = World("eu", "us")
    world.errors["us"] = Forbidden(403, "Forbidden", "no")
    logs = kept(world, 3000)
    assert len(logs) == 2
    assert "s1gnature" not in str(logs) + repr(world.secrets) + repr(world.held())
