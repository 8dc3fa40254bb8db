"""Federated namespaces: made, gated by, and never touched where they are not ours to touch."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcs.model.federated import federated_resource
from mcs.model.names import ClusterId
from mcs.model.resources import NAMESPACES
from mcs.testing.virtual_time import run_virtual
from tests.e2e.federated_world import (
    CONFIG_MAPS,
    MEMBERS,
    SYSTEM,
    TYPE_NAMESPACES,
    Federation,
    Json,
    running_federation,
    settled,
)
from tests.e2e.test_federated_sync import AT_ONCE, DATA

LAB = "lab"
OURS = {"kubefed.io/managed": "true"}


async def _namespace_in_host(federation: Federation, name: str) -> None:
    await federation.host.apply(
        NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    )


async def _delete_federated(federation: Federation, name: str) -> None:
    await federation.host.delete(federated_resource(TYPE_NAMESPACES), name, name)


def _is_going(namespace: Json) -> bool:
    return "deletionTimestamp" in namespace["metadata"]


def test_a_namespace_is_made_before_what_is_in_it_and_deleted_with_its_placement(tmp_path: Path) -> None:
    async def story() -> None:
        async with (
            running_federation(tmp_path) as federation,
            federation.synced(CONFIG_MAPS, TYPE_NAMESPACES, settings=AT_ONCE),
        ):
            await _namespace_in_host(federation, LAB)
            await federation.federate(CONFIG_MAPS, "settings", DATA, namespace=LAB)
            await federation.federate_namespace(name=LAB)
            await settled(20)
            assert set(await federation.made(TYPE_NAMESPACES, LAB)) == set(MEMBERS)
            assert set(await federation.made(CONFIG_MAPS, "settings", LAB)) == set(MEMBERS)
            assert await federation.ledger(TYPE_NAMESPACES, LAB) == list(MEMBERS)

            await federation.federate_namespace(("a",), LAB)
            await settled(20)
            made = await federation.made(TYPE_NAMESPACES, LAB)
            # Nobody finalizes namespaces here.
            assert [cluster for cluster, each in made.items() if _is_going(each)] == ["b", "c"]
            assert set(await federation.made(CONFIG_MAPS, "settings", LAB)) == {"a"}
            status = await federation.status(TYPE_NAMESPACES, LAB, LAB)
            assert status == {"a": "", "b": "WaitingForRemoval", "c": "WaitingForRemoval"}
            await federation.apis["b"].finalize_namespace(LAB)
            await settled()
            assert await federation.ledger(TYPE_NAMESPACES, LAB) == ["a", "c"]

    run_virtual(story())


def test_a_federated_namespace_of_another_name_has_no_effect(tmp_path: Path) -> None:
    async def story() -> None:
        async with running_federation(tmp_path) as federation, federation.synced(TYPE_NAMESPACES):
            await _namespace_in_host(federation, LAB)
            await federation.federate(TYPE_NAMESPACES, "other", {}, namespace=LAB)
            await settled()
            assert await federation.made(TYPE_NAMESPACES, "other") == {}
            assert await federation.made(TYPE_NAMESPACES, LAB) == {}
            assert "InvalidName" in await federation.events()

    run_virtual(story())


@pytest.mark.parametrize("name", ["kube-system", "default", SYSTEM])
def test_a_namespace_of_the_system_is_not_touched(tmp_path: Path, name: str) -> None:
    async def story() -> None:
        async with (
            running_federation(tmp_path) as federation,
            federation.synced(TYPE_NAMESPACES, settings=AT_ONCE),
        ):
            labelled = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": OURS}}
            await federation.apis["a"].apply(NAMESPACES, labelled)
            await settled()
            before = await federation.made(TYPE_NAMESPACES, name)
            assert before["a"]["metadata"]["labels"].items() >= OURS.items()
            await federation.federate_namespace(name=name)
            await settled()
            assert await federation.made(TYPE_NAMESPACES, name) == before
            await _delete_federated(federation, name)
            await settled()
            assert await federation.made(TYPE_NAMESPACES, name) == before
            assert await federation.federated(TYPE_NAMESPACES, name, name) is None

    run_virtual(story())


def test_the_host_may_be_a_member_and_keeps_its_namespace(tmp_path: Path) -> None:
    async def story() -> None:
        async with (
            running_federation(tmp_path, ("a", "b")) as federation,
            federation.synced(TYPE_NAMESPACES, settings=AT_ONCE),
        ):
            federation.clusters.register("host")
            await _namespace_in_host(federation, LAB)
            await federation.federate_namespace(("a", "host"), LAB)
            await settled()
            own = await federation.host.get(NAMESPACES, "", LAB)
            assert own is not None
            assert own["metadata"]["labels"]["kubefed.io/managed"] == "true"

            await federation.federate_namespace(("a",), LAB)
            await settled()
            own = await federation.host.get(NAMESPACES, "", LAB)
            assert own is not None
            assert not _is_going(own)
            assert "kubefed.io/managed" not in own["metadata"]["labels"]

            await federation.federate_namespace(("a", "host"), LAB)
            await settled()
            await _delete_federated(federation, LAB)
            await settled()
            own = await federation.host.get(NAMESPACES, "", LAB)
            assert own is not None
            assert not _is_going(own)
            assert "kubefed.io/managed" not in own["metadata"]["labels"]
            assert ClusterId("host") in federation.clusters.registered

    run_virtual(story())
