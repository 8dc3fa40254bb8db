"""A controller that dies after any of its writes: nothing is leaked, and the next one brings it all to its end."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from mcs.model.federated import PROPAGATED_VERSIONS, federated_resource, target_resource
from mcs.testing.virtual_time import run_virtual
from tests.e2e.federated_world import (
    CONFIG_MAPS,
    MEMBERS,
    SHOP,
    Federation,
    Json,
    running_federation,
    settled,
)
from tests.e2e.test_federated_adoption import config_map
from tests.e2e.test_federated_members import get_back, lose
from tests.e2e.test_federated_sync import AT_ONCE, DATA

FEDERATED = federated_resource(CONFIG_MAPS)
TARGET = target_resource(CONFIG_MAPS)
MOST_WRITES = 10
"""More than any stage takes, as the test sees."""
ASKED = 2
"""How often a write asks for its permit: before it is made ready, and when it leaves."""

Stage = Callable[[Federation], Awaitable[None]]
Made = dict[str, str]
"""What there is in each member: its color, in brackets where it is not ours."""


async def _create(federation: Federation) -> None:
    await federation.apis["c"].create(TARGET, config_map("settings", color="blue", size="small"))
    await federation.federate(CONFIG_MAPS, "settings", {"data": {"color": "blue", "size": "small"}})


async def _change(federation: Federation) -> None:
    red = [{"path": "/data/color", "value": "red"}]
    await federation.federate(CONFIG_MAPS, "settings", DATA, clusters=("b", "c"), overrides={"c": red})


async def _widen(federation: Federation) -> None:
    await federation.federate(CONFIG_MAPS, "settings", DATA)


async def _delete_while_one_is_away(federation: Federation) -> None:
    await lose(federation, "b")
    await federation.host.delete(FEDERATED, SHOP, "settings")


async def _federate_again(federation: Federation) -> None:
    await federation.federate(CONFIG_MAPS, "settings", {"data": {"color": "green"}}, clusters=("a",))


async def _return(federation: Federation) -> None:
    await get_back(federation, "b")


async def _orphan(federation: Federation) -> None:
    changes = {"metadata": {"annotations": {"kubefed.io/orphan": "true"}}}
    await federation.host.merge(FEDERATED, SHOP, "settings", changes)
    await federation.host.delete(FEDERATED, SHOP, "settings")


STAGES: tuple[tuple[Stage, Made], ...] = (
    (_create, {"a": "blue", "b": "blue", "c": "blue"}),
    (_change, {"b": "blue", "c": "red"}),
    (_widen, {"a": "blue", "b": "blue", "c": "blue"}),
    (_delete_while_one_is_away, {"b": "blue"}),
    (_federate_again, {"a": "green", "b": "blue"}),
    (_return, {"a": "green"}),
    (_orphan, {"a": "(green)"}),
)


def _shown(made: dict[str, Json]) -> Made:
    def show(obj: Json) -> str:
        color = str(obj["data"]["color"])
        return color if obj["metadata"].get("labels") == {"kubefed.io/managed": "true"} else f"({color})"

    return {cluster: show(each) for cluster, each in made.items()}


async def _recorded(federation: Federation) -> set[str]:
    """The clusters that any ledger or tombstone has."""
    found = await federation.host.list(PROPAGATED_VERSIONS)
    entries = [each.get("status", {}).get("clusterVersions", ()) for each in found]
    return {each["clusterName"] for listed in entries for each in listed}


async def _life(folder: Path, writes: int) -> list[int]:
    """Go through all stages, each begun by a controller that dies after so many writes; how many it had left."""
    left: list[int] = []
    async with running_federation(folder) as federation:
        for stage, expected in STAGES:
            federation.writes_left = ASKED * writes
            async with federation.synced(CONFIG_MAPS, settings=AT_ONCE):
                await settled(1)
                await stage(federation)
                await settled(4)
            left.append(federation.writes_left)
            ours = {
                cluster
                for cluster, shown in _shown(await federation.made(CONFIG_MAPS, "settings")).items()
                if not shown.startswith("(")
            }
            assert ours <= await _recorded(federation), (stage.__name__, writes)
            federation.writes_left = None
            async with federation.synced(CONFIG_MAPS, settings=AT_ONCE):
                await settled(5)
                made = _shown(await federation.made(CONFIG_MAPS, "settings"))
                assert made == expected, (stage.__name__, writes)
                if found := await federation.federated(CONFIG_MAPS, "settings"):
                    (condition,) = found["status"]["conditions"]
                    is_away = stage == _federate_again
                    assert (condition["status"] == "True") != is_away, (stage.__name__, writes, found)
        assert await _recorded(federation) == set()
        assert await federation.host.list(PROPAGATED_VERSIONS) == []
    return left


@pytest.mark.parametrize("writes", range(MOST_WRITES + 1))
def test_a_controller_that_dies_after_any_write_is_followed_by_one_that_ends_its_work(
    tmp_path: Path, writes: int
) -> None:
    left = run_virtual(_life(tmp_path, writes))
    assert len(left) == len(STAGES)
    if writes == MOST_WRITES:
        assert all(each > 0 for each in left)
    assert set(MEMBERS) == {"a", "b", "c"}
