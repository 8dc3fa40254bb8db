"""On real API servers: a registry that is lost deletes nothing, and a member whose token has expired is joined anew.

Both members were joined by `mcs join`, as users do it; the first is the host too.
"""

from __future__ import annotations

import asyncio
import base64
import json
import re
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest_asyncio
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey

from mcs.model.names import MANAGED_BY, MANAGED_BY_LABEL
from mcs.model.resources import ENDPOINT_SLICES, SERVICE_IMPORTS, SERVICES
from tests.lab.control_planes import ControlPlanes, free_ports
from tests.lab.mcs import MCS, eventually, running
from tests.real.chaos.api import AdminApi

SYSTEM = "/api/v1/namespaces/kube-federation-system"
REGISTRATIONS = "/apis/core.kubefed.io/v1beta1/namespaces/kube-federation-system/kubefedclusters"
CLUSTERS = ("host", "member")
ORPHANS = r"mcs_orphaned_clusters\{.*\}"
Json = dict[str, Any]


class Members:
    """Two members that export a service each; their controller is started and ended at will."""

    def __init__(self, planes: ControlPlanes, apis: dict[str, AdminApi], folder: Path) -> None:
        self.planes = planes
        self.apis = apis
        self.folder = folder
        self._options = ("--kubeconfig", str(planes.kubeconfig()), "--host-context", "host")

    async def join(self, cluster: str) -> None:
        """`mcs join`, to its end."""
        command = (*MCS, "join", cluster, *self._options, "--no-dns")
        process = await asyncio.create_subprocess_exec(*command, stderr=asyncio.subprocess.PIPE)
        _, errors = await process.communicate()
        assert process.returncode == 0, errors.decode()

    @asynccontextmanager
    async def controlled(self) -> AsyncIterator[str]:
        """The controller; the URL of its metrics."""
        (port,) = free_ports(1)
        listen = ("--metrics-listen", f"127.0.0.1:{port}")
        arguments = ("controller", *self._options, "--registry", *listen)
        async with running("controller", *arguments, folder=self.folder):
            yield f"http://127.0.0.1:{port}/metrics"

    async def serve(self, cluster: str, address: str) -> None:
        """Let the service of a cluster have this endpoint."""
        said = {"service": cluster, "ports": ["http 80"], "ready": [address]}
        await self.apis[cluster].apply({"EndpointSlice": f"shop/{cluster}-1", **said})

    async def imported(self) -> dict[str, Json]:
        """Every import, derived Service and mirror, by cluster, kind and name."""
        return {
            f"{cluster} {resource} {each['metadata']['name']}": each
            for cluster, api in self.apis.items()
            for resource in (SERVICE_IMPORTS, SERVICES, ENDPOINT_SLICES)
            for each in (await api.request("GET", resource.path("shop")))["items"]
            if each["metadata"].get("labels", {}).get(MANAGED_BY_LABEL) == MANAGED_BY
        }

    async def versions(self) -> dict[str, str]:
        """The version of each of them."""
        return {name: each["metadata"]["resourceVersion"] for name, each in (await self.imported()).items()}

    async def is_all_imported(self) -> bool:
        """Whether both services have come to both: an import, a derived Service and a mirror of each."""
        return len(await self.imported()) == 3 * len(CLUSTERS) ** 2

    async def expire_token(self, cluster: str) -> None:
        """Put a token into the Secret of a registration that is like the present one but for its times, long past."""
        registration = await self.apis["host"].request("GET", f"{REGISTRATIONS}/{cluster}")
        path = f"{SYSTEM}/secrets/{registration['spec']['secretRef']['name']}"
        secret = await self.apis["host"].request("GET", path)
        token = base64.b64decode(secret["data"]["token"]).decode()
        expired = base64.b64encode(_expired(token, self.planes.folder / "service-account.key").encode())
        changes = {"data": {"token": expired.decode()}}
        await self.apis["host"].request("PATCH", path, changes, content_type="application/merge-patch+json")


def _expired(token: str, key_file: Path) -> str:
    header, payload, _ = token.split(".")
    claims = json.loads(base64.urlsafe_b64decode(payload + "=="))
    day = 86400
    claims |= {
        "iat": int(time.time()) - 2 * day,
        "nbf": int(time.time()) - 2 * day,
        "exp": int(time.time()) - day,
    }
    signed = f"{header}.{_encoded(json.dumps(claims).encode())}"
    key = serialization.load_pem_private_key(key_file.read_bytes(), password=None)
    assert isinstance(key, RSAPrivateKey)
    return f"{signed}.{_encoded(key.sign(signed.encode(), padding.PKCS1v15(), hashes.SHA256()))}"


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


async def metric(url: str, pattern: str) -> float:
    """The sum of the samples whose name and labels the pattern matches; 0 where nobody answers yet."""
    try:
        async with aiohttp.ClientSession() as session, session.get(url) as response:
            text = await response.text()
    except aiohttp.ClientError:
        return 0.0
    return sum(float(value) for value in re.findall(rf"^{pattern} (\S+)$", text, re.MULTILINE))


@pytest_asyncio.fixture(loop_scope="session")
async def members(tmp_path: Path) -> AsyncIterator[Members]:
    """Joined and imported; no controller runs."""
    async with AsyncExitStack() as stack:
        planes = await stack.enter_async_context(ControlPlanes(CLUSTERS))
        apis = {name: await stack.enter_async_context(AdminApi(planes[name])) for name in CLUSTERS}
        found = Members(planes, apis, tmp_path)
        for name, api in apis.items():
            await found.join(name)
            await api.apply({"Namespace": "shop"})
        for name, api in apis.items():
            await api.apply({"Service": f"shop/{name}", "ports": ["http 80"]})
            await found.serve(name, "10.71.0.1")
            await api.apply({"ServiceExport": f"shop/{name}"})
        async with found.controlled():
            await eventually("all is imported", found.is_all_imported, every=0.3)
        yield found


async def test_a_restart_with_an_empty_registry_deletes_nothing(members: Members) -> None:
    before = await members.versions()
    host = members.apis["host"]
    for name in CLUSTERS:
        # As after a restore: gone, and no leave was ever asked for.
        path, changes = f"{REGISTRATIONS}/{name}", {"metadata": {"finalizers": None}}
        await host.request("PATCH", path, changes, content_type="application/merge-patch+json")
        await host.request("DELETE", path)
    async with members.controlled() as url:
        await members.join("host")
        lists = r'mcs_watch_lists_total\{cluster="host",.*\}'

        async def has_seen_the_host() -> bool:
            return await metric(url, ORPHANS) == 1 and await metric(url, lists) > 0

        await eventually("the host is a member again, and the other an orphan", has_seen_the_host, every=0.3)
        assert await members.versions() == before
        assert await metric(url, r'mcs_api_requests_total\{.*verb="delete".*\}') == 0
        await members.join("member")

        async def is_nobody_an_orphan() -> bool:
            return await metric(url, ORPHANS) == 0

        await eventually("the other is a member again", is_nobody_an_orphan, every=0.3)
        assert await members.versions() == before


async def test_a_member_whose_token_expired_while_nothing_ran_is_recovered_by_joining_it_again(
    members: Members,
) -> None:
    before = await members.versions()
    await members.expire_token("member")
    async with members.controlled():

        async def is_told() -> bool:
            found = await members.apis["host"].request("GET", f"{REGISTRATIONS}/member")
            conditions = found.get("status", {}).get("conditions", ())
            return any(each["type"] == "Offline" and each["status"] == "True" for each in conditions)

        await eventually("the registration says that the member cannot be reached", is_told, every=0.3)
        assert await members.versions() == before
        await members.join("member")
        await members.serve("member", "10.71.0.2")

        async def has_come() -> bool:
            mirrors = [
                each
                for name, each in (await members.imported()).items()
                if name.startswith("host endpointslices")
            ]
            return any(
                "10.71.0.2" in endpoint["addresses"] for each in mirrors for endpoint in each["endpoints"]
            )

        await eventually("its changes come again", has_come, every=0.3)
        after = await members.versions()
        assert set(after) == set(before)
        changed = {name for name in before if after[name] != before[name]}
        assert {name.split()[1] for name in changed} == {"endpointslices"}
