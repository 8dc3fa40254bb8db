"""The API servers of a fleet of sandbox members, all in one process of their own: `fleet_size` tells it what to do.

    python -m tests.bench.fleet_servers MEMBERS KUBECONFIG

It writes the kubeconfig, says that it is ready, and answers each line that it reads by one line of JSON: `fill NAMES`
puts Services, slices and exports into the members, with all that a controller makes of them, `held` tells what the
members hold and how often they were written to.

To write some 100,000 objects over HTTP would take minutes, and is measured elsewhere (`burst`). So what the controller
makes of the exports is made here, by our own reconciler, that writes straight into the stores. If it came out other
than through an API server, the controller that is started afterwards would write, and `held` would tell.
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import uvloop

from mcs.controllers.clusters import REFLECTED, Work
from mcs.controllers.processes import utc_now
from mcs.controllers.services import ServicesController
from mcs.kube.errors import NotFound
from mcs.kube.packaged import definition_documents
from mcs.model.meta import KubernetesObject
from mcs.model.names import SOURCE_CLUSTER_LABEL, ClusterId, is_derived_name
from mcs.model.resources import ENDPOINT_SLICES, SERVICE_EXPORTS, SERVICE_IMPORTS, SERVICES, Resource
from mcs.runtime.executor import Executor
from mcs.runtime.fleet import Client, Fleet, Member
from mcs.sandbox.api import WriteOptions
from mcs.sandbox.http.server import ApiServer, kubeconfig
from mcs.sandbox.resources import ResourceType
from mcs.sandbox.rules.meta import metadata_for_create
from mcs.sandbox.store import Objects
from tests.scenarios.objects import expanded

NAMESPACES = 10
_USER = WriteOptions(manager="user")
_CHANCE = random.Random(0)
T = TypeVar("T", bound=KubernetesObject)


def main(members: int, file: str) -> None:
    """Serve until the other side closes our standard input."""
    uvloop.run(_serve(members, Path(file).write_text))


async def _serve(members: int, write: Callable[[str], object]) -> None:
    loop, lines = asyncio.get_running_loop(), asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    async with AsyncExitStack() as stack:
        servers = [
            await stack.enter_async_context(ApiServer(f"member-{number}", now=utc_now))
            for number in range(members)
        ]
        for server in servers:
            _write(server, definition_documents())
            _write(server, [expanded({"Namespace": f"team-{number}"})[1] for number in range(NAMESPACES)])
        write(kubeconfig(servers))
        _say("ready")
        while line := await lines.readline():
            match line.decode().split():
                case ["fill", names]:
                    for number in range(int(names)):
                        for place in (number % members, (number + 1) % members):
                            _write(servers[place], _exported(number, place))
                    await _carry_out(servers)
                    _say("filled")
                case _:
                    _say(_held(servers))


def _say(what: object) -> None:
    print(json.dumps(what), flush=True)


def _exported(number: int, place: int) -> Objects:
    """An exported Service and its slice with two endpoints, as the member of that place has them."""
    key = f"team-{number % NAMESPACES}/api-{number}"
    ready = [f"10.{place}.{number}.{endpoint}" for endpoint in (1, 2)]
    shorts: list[dict[str, Any]] = [
        {"Service": key, "ports": ["http 80"]},
        {"EndpointSlice": f"{key}-1", "service": f"api-{number}", "ports": ["http 80"], "ready": ready},
        {"ServiceExport": key},
    ]
    return [expanded(short)[1] for short in shorts]


def _write(server: ApiServer, objects: Objects) -> None:
    for obj in objects:
        resource = server.api.registry.of_kind(obj["apiVersion"], obj["kind"])
        assert resource is not None, obj["kind"]
        server.api.apply(resource, obj, options=_USER)


class _Writer:
    """What the executor needs of a client, without a server in between."""

    def __init__(self, server: ApiServer) -> None:
        self._server = server

    async def get(self, resource: Resource[T], namespace: str, name: str) -> T:
        found = self._server.api.store.get(_served(self._server, resource), namespace, name)
        if found is None:
            raise NotFound(404, "NotFound", name)
        return msgspec.convert(found, resource.type)

    async def apply(self, resource: Resource[T], obj: T, *, subresource: str = "", force: bool = True) -> T:
        api, served = self._server.api, _served(self._server, resource)
        new = msgspec.json.decode(msgspec.json.encode(obj))
        new |= {"apiVersion": resource.api_version, "kind": resource.kind}
        live = api.store.get(served, obj.metadata.namespace, obj.metadata.name)
        if resource is SERVICES:
            # It gets its addresses there.
            stored = api.apply(served, new, options=_USER)
        elif live is not None and subresource:
            stored = api.store.put(served, live | {"status": new["status"]})
        else:
            metadata = metadata_for_create(new, api.now(), _CHANCE)["metadata"] | (live or {}).get(
                "metadata", {}
            )
            stored = api.store.put(served, (live or {}) | new | {"metadata": metadata | new["metadata"]})
        return msgspec.convert(stored, resource.type)


def _served(server: ApiServer, resource: Resource[Any]) -> ResourceType:
    found = server.api.registry.of_kind(resource.api_version, resource.kind)
    assert found is not None, resource.kind
    return found


@asynccontextmanager
async def _no_client() -> AsyncIterator[Client]:
    raise AssertionError("nobody is engaged")
    yield


async def _carry_out(servers: Sequence[ApiServer]) -> None:
    """Everything that the exports ask for, in all members."""
    fleet: Fleet[Work] = Fleet([Member(ClusterId(each.name), _no_client, REFLECTED) for each in servers])
    reconciler = ServicesController(fleet, utc_now)
    for server, member in zip(servers, fleet.members.values(), strict=True):
        member.executor = Executor(member.cluster, _Writer(server), member.caches)  # type: ignore[arg-type]
        for each in REFLECTED:
            objects = server.api.list(_served(server, each.resource))
            member.caches[each.resource.plural].replace(
                [msgspec.convert(obj, each.resource.type) for obj in objects]
            )
    keys = sorted({each.key for member in fleet.members.values() for each in member.caches["serviceexports"]})
    for _ in range(2):
        # A derived Service has its addresses only once it is written; the import tells them the second time.
        for cluster in fleet.members:
            for key in keys:
                await reconciler.reconcile(cluster, Work("service", key))


def _held(servers: Sequence[ApiServer]) -> dict[str, int]:
    """How much of what an export brings about is there, in all members together."""

    def of(resource: Resource[Any]) -> Iterator[dict[str, Any]]:
        for server in servers:
            yield from server.api.list(_served(server, resource))

    return {
        "imports": sum(
            bool(each["spec"].get("ips")) and len(each.get("status", {}).get("clusters", ())) == 2
            for each in of(SERVICE_IMPORTS)
        ),
        "mirrors": sum(
            SOURCE_CLUSTER_LABEL in each["metadata"].get("labels", {}) for each in of(ENDPOINT_SLICES)
        ),
        "derived": sum(is_derived_name(each["metadata"]["name"]) for each in of(SERVICES)),
        "exports": sum(_is_ready(each) for each in of(SERVICE_EXPORTS)),
        "writes": sum(server.writes().total() for server in servers),
    }


def _is_ready(export: dict[str, Any]) -> bool:
    conditions = export.get("status", {}).get("conditions", ())
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
