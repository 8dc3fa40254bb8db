"""What a scheduler and a kubelet make of Pods on the one Node of a real API server: bound, ready, and gone.

For control planes without nodes. Nothing runs; whether there is room is left to who divides replicas.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from itertools import count
from typing import Any

from tests.lab.control_planes import ControlPlane
from tests.real.chaos.api import AdminApi

PERIOD = 0.3
"""Seconds between two looks at all Pods."""

_GONE_MEANWHILE = 3.0
"""Seconds after which a Pod that cannot be changed is looked at again."""


class Kubelet:
    """Looks after the Pods of a namespace; addresses are those of `network`, as "10.1.0"."""

    def __init__(self, api: AdminApi, namespace: str, network: str) -> None:
        self._api = api
        self._pods = f"/api/v1/namespaces/{namespace}/pods"
        self._addresses = (f"{network}.{number}" for number in count(1))

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            for each in (await self._api.request("GET", self._pods))["items"]:
                with suppress(TimeoutError):
                    async with asyncio.timeout(_GONE_MEANWHILE):
                        await self._look_after(each)
            await asyncio.sleep(PERIOD)

    async def _look_after(self, pod: dict[str, Any]) -> None:
        path = f"{self._pods}/{pod['metadata']['name']}"
        if "deletionTimestamp" in pod["metadata"]:
            await self._api.request("DELETE", path, {"gracePeriodSeconds": 0})
        elif "nodeName" not in pod["spec"]:
            binding = {
                "metadata": {"name": pod["metadata"]["name"]},
                "target": {"kind": "Node", "name": "node"},
            }
            kind = {"apiVersion": "v1", "kind": "Binding"}
            await self._api.request("POST", f"{path}/binding", kind | binding)
        elif pod["status"]["phase"] != "Running":
            address = next(self._addresses)
            conditions = [{"type": each, "status": "True"} for each in ("Ready", "ContainersReady")]
            status = {
                "phase": "Running",
                "podIP": address,
                "podIPs": [{"ip": address}],
                "conditions": conditions,
            }
            patch = "application/merge-patch+json"
            await self._api.request("PATCH", f"{path}/status", {"status": status}, content_type=patch)


@asynccontextmanager
async def kubelet(plane: ControlPlane, namespace: str, network: str) -> AsyncIterator[None]:
    """One that runs until the block ends."""
    async with AdminApi(plane) as api:
        task = asyncio.create_task(Kubelet(api, namespace, network).run())
        try:
            yield
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
