"""Storms: what users, accidents and operators do to a clusterset, as steps that a seed decides.

A step is carried out on the clusters' stores and processes, never by our client, so that it may also happen while an
API server does not answer. What must be true afterwards is left to `clusterset_truth`.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Any, NamedTuple

from mcs.sandbox.api import Api, WriteOptions
from mcs.sandbox.errors import StatusError, internal
from mcs.sandbox.resources import ResourceType
from mcs.sandbox.store import Object
from tests.scenarios.objects import RESOURCES, expanded
from tests.scenarios.world import World

CLUSTERS = ("east", "south.eu", "west")
SERVICES = (("shop", "api"), ("shop", "db"), ("lab", "web"))
STEADY = "shop"
"""The namespace that no step deletes; the objects of strangers are there."""

USER = WriteOptions(manager="user", force=True)
_PORTS = (["http 80"], ["http 80", "dns 53/UDP"], ["http 8080"], ["web 80"])
_SPOILT = ("EndpointSlice", "Service", "ServiceExport")
_OURS = {"app.kubernetes.io/managed-by": "mcs-controller"}


class Step(NamedTuple):
    """One thing that happens; `what` are the arguments of the verb."""

    verb: str
    what: tuple[Any, ...]

    def __str__(self) -> str:
        return f"{self.verb}{self.what}"


def storm(seed: int, length: int) -> list[Step]:
    """The steps that a seed stands for."""
    chance = random.Random(seed)
    verbs = list(_VERBS)
    weights = [weight for _, weight in _VERBS.values()]
    steps: list[Step] = []
    for _ in range(length):
        verb = chance.choices(verbs, weights)[0]
        steps.append(Step(verb, _VERBS[verb][0](chance)))
        steps.append(Step("pass", (chance.choice(_PAUSES),)))
    return steps


def _service(chance: random.Random) -> tuple[Any, ...]:
    kind = chance.choice(["ClusterIP"] * 4 + ["headless"] * 3 + ["ExternalName"])
    return *_place(chance), kind, chance.choice(_PORTS), chance.random() < 0.3


def _slice(chance: random.Random) -> tuple[Any, ...]:
    cluster, key = _place(chance)
    number, family = chance.randint(1, 2), chance.choice([4, 4, 6])
    hosts = chance.sample(range(1, 6), chance.randint(0, 3))
    unready = [host for host in hosts if chance.random() < 0.3]
    return cluster, key, number, family, hosts, unready, chance.random() < 0.5


def _place(chance: random.Random) -> tuple[str, tuple[str, str]]:
    return chance.choice(CLUSTERS), chance.choice(SERVICES)


def _cluster(chance: random.Random) -> tuple[str]:
    return (chance.choice(CLUSTERS),)


def _members(chance: random.Random) -> tuple[tuple[str, ...]]:
    return (tuple(sorted(chance.sample(CLUSTERS, chance.choice([0, 1, 2, 3, 3, 3])))),)


def _nothing(chance: random.Random) -> tuple[()]:
    return ()


def _tampering(chance: random.Random) -> tuple[Any, ...]:
    kind = chance.choice(["ServiceImport", "Service", "EndpointSlice"])
    return *_cluster(chance), kind, chance.randint(0, 9), chance.choice(["delete", "delete", "edit"])


def _spoiling(chance: random.Random) -> tuple[Any, ...]:
    return *_place(chance), chance.choice(_SPOILT)


_PAUSES: tuple[float | int, ...] = (0, 1, 2, 4, 8, 16, 32, 0.001, 0.01, 0.25, 1.0, 3.0, 12.0, 45.0)
"""Integers are turns of the loop, so that steps fall between two halves of a piece of work; floats are seconds."""

_VERBS: dict[str, tuple[Callable[[random.Random], tuple[Any, ...]], int]] = {
    "put service": (_service, 18),
    "delete service": (_place, 4),
    "put slice": (_slice, 26),
    "delete slice": (lambda chance: (*_place(chance), chance.randint(1, 2), chance.choice([4, 6])), 8),
    "put export": (_place, 22),
    "delete export": (_place, 8),
    "create namespace": (_cluster, 5),
    "delete namespace": (_cluster, 2),
    "tamper": (_tampering, 8),
    "spoil": (_spoiling, 6),
    "repair": (_nothing, 5),
    "drop watches": (_cluster, 6),
    "compact": (_cluster, 5),
    "refuse watches": (_cluster, 3),
    "allow watches": (_cluster, 5),
    "refuse writes": (_cluster, 3),
    "allow writes": (_cluster, 5),
    "stop api": (_cluster, 3),
    "start api": (_cluster, 5),
    "stop controller": (_nothing, 2),
    "start controller": (_members, 5),
    "restart dns": (_cluster, 2),
}


class Storm:
    """Carries steps out on one world. What cannot be done at the moment is left undone."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._stopped: set[str] = set()
        self._unwritable: set[str] = set()

    async def begin(self) -> None:
        """A clusterset in use, with objects of strangers in the places of ours, and a controller just started."""
        for cluster in CLUSTERS:
            for namespace in (STEADY, *(["lab"] if cluster != "west" else [])):
                self._apply(cluster, {"Namespace": namespace})
            self._api(cluster).hooks.append(partial(self._admit, cluster))
        for short in STRANGERS:
            self._apply("west", short)
        for cluster, key in product(CLUSTERS, SERVICES):
            kind = "headless" if key[1] == "db" else "ClusterIP"
            await self._put_service(cluster, key, kind, ["http 80"], False)
            await self._put_slice(cluster, key, 1, 4, [1, 2], [], kind == "headless")
            if cluster != "west":
                await self._put_export(cluster, key)
        await self._world.start_controller(CLUSTERS)

    async def run(self, steps: list[Step]) -> None:
        """Carry out the steps in their order."""
        for step in steps:
            await getattr(self, f"_{step.verb.replace(' ', '_')}")(*step.what)

    async def calm(self) -> None:
        """Whatever was stopped works again."""
        for cluster in CLUSTERS:
            self._world.servers[cluster].refuse_watches(None)
            await self._start_api(cluster)
        self._unwritable.clear()
        for cluster in CLUSTERS:
            # The simulated namespace controller was refused, too, and does not try again on its own.
            for namespace in objects_of(self._api(cluster), "Namespace"):
                if "deletionTimestamp" in namespace["metadata"]:
                    self._api(cluster).store.put(resource_of(self._api(cluster), "Namespace"), namespace)
        await self._repair()
        if not self._is_controlled_whole():
            await self._start_controller(CLUSTERS)

    def _is_controlled_whole(self) -> bool:
        controller = self._world.controller
        return controller is not None and set(controller.fleet.members) == set(CLUSTERS)

    async def _pass(self, pause: float | int) -> None:
        if isinstance(pause, float):
            await asyncio.sleep(pause)
        else:
            for _ in range(pause):
                await asyncio.sleep(0)

    async def _put_service(
        self, cluster: str, key: tuple[str, str], kind: str, ports: list[str], is_dual: bool
    ) -> None:
        spec: Object = {
            "type": "ClusterIP",
            "ipFamilyPolicy": "PreferDualStack" if is_dual else "SingleStack",
        }
        if kind == "ExternalName":
            spec = {"type": "ExternalName", "externalName": "example.com"}
        short = {"Service": "/".join(key), "ports": ports, "headless": kind == "headless", "spec": spec}
        try:
            self._apply(cluster, short)
        except StatusError:
            # What cannot be changed is replaced.
            self._delete(cluster, "Service", *key)
            self._try(lambda: self._apply(cluster, short))

    async def _delete_service(self, cluster: str, key: tuple[str, str]) -> None:
        self._delete(cluster, "Service", *key)

    async def _put_slice(
        self,
        cluster: str,
        key: tuple[str, str],
        number: int,
        family: int,
        hosts: list[int],
        unready: list[int],
        has_names: bool,
    ) -> None:
        network = f"10.{CLUSTERS.index(cluster) + 1}.{number}." if family == 4 else f"fd00:{number}::"
        short: Object = {
            "EndpointSlice": f"{key[0]}/{_slice_name(key[1], number, family)}",
            "service": key[1],
            "ports": ["http 8080"],
            "ready": [f"{network}{host}" for host in hosts if host not in unready],
            "not ready": [f"{network}{host}" for host in unready],
            "hostnames": [f"{key[1]}-{host}" for host in hosts] if has_names else [],
            "addressType": f"IPv{family}",
        }
        self._try(lambda: self._apply(cluster, short))

    async def _delete_slice(self, cluster: str, key: tuple[str, str], number: int, family: int) -> None:
        self._delete(cluster, "EndpointSlice", key[0], _slice_name(key[1], number, family))

    async def _put_export(self, cluster: str, key: tuple[str, str]) -> None:
        self._try(lambda: self._apply(cluster, {"ServiceExport": "/".join(key)}))

    async def _delete_export(self, cluster: str, key: tuple[str, str]) -> None:
        self._delete(cluster, "ServiceExport", *key)

    async def _create_namespace(self, cluster: str) -> None:
        self._try(lambda: self._apply(cluster, {"Namespace": "lab"}))

    async def _delete_namespace(self, cluster: str) -> None:
        self._delete(cluster, "Namespace", "", "lab")

    async def _tamper(self, cluster: str, kind: str, number: int, how: str) -> None:
        ours = [each for each in objects_of(self._api(cluster), kind) if is_ours(each)]
        if not ours:
            return
        metadata = ours[number % len(ours)]["metadata"]
        namespace, name = metadata["namespace"], metadata["name"]
        if how == "delete":
            self._delete(cluster, kind, namespace, name)
        elif kind == "EndpointSlice":
            api = self._api(cluster)
            resource = resource_of(api, kind)
            self._try(lambda: api.patch(resource, namespace, name, lambda found: {**found, "endpoints": []}))

    async def _spoil(self, cluster: str, key: tuple[str, str], kind: str) -> None:
        """An object becomes one that cannot be decoded: a label that is no text."""
        api = self._api(cluster)
        resource = resource_of(api, kind)
        name = _slice_name(key[1], 1, 4) if kind == "EndpointSlice" else key[1]
        if (present := api.store.get(resource, key[0], name)) is not None:
            api.store.put(resource, _labelled(present, {"spoiled": 7}))

    async def _repair(self) -> None:
        """What was spoiled and still exists can be decoded again."""
        for cluster in CLUSTERS:
            api = self._api(cluster)
            for kind in _SPOILT:
                for obj in objects_of(api, kind):
                    metadata = obj["metadata"]
                    self._repair_one(api, resource_of(api, kind), metadata["namespace"], metadata["name"])

    def _repair_one(self, api: Api, resource: ResourceType, namespace: str, name: str) -> None:
        present = api.store.get(resource, namespace, name)
        if present is not None and "spoiled" in (present["metadata"].get("labels") or {}):
            api.store.put(resource, _labelled(present, {}))

    async def _drop_watches(self, cluster: str) -> None:
        self._world.servers[cluster].drop_watches()

    async def _compact(self, cluster: str) -> None:
        self._world.servers[cluster].compact()

    async def _refuse_watches(self, cluster: str) -> None:
        self._world.servers[cluster].refuse_watches(internal("the storm refuses watches"))

    async def _allow_watches(self, cluster: str) -> None:
        self._world.servers[cluster].refuse_watches(None)

    async def _refuse_writes(self, cluster: str) -> None:
        self._unwritable.add(cluster)

    async def _allow_writes(self, cluster: str) -> None:
        self._unwritable.discard(cluster)

    def _admit(
        self, cluster: str, operation: str, resource: ResourceType, old: Object | None, new: Object | None
    ) -> Object | None:
        """Refuse writes to what is ours, in the way of an admission webhook that is down."""
        if cluster in self._unwritable and any(is_ours(each) for each in (old, new) if each is not None):
            raise internal("the storm refuses writes")
        return new

    async def _stop_api(self, cluster: str) -> None:
        if cluster not in self._stopped:
            self._stopped.add(cluster)
            await self._world.servers[cluster].stop()

    async def _start_api(self, cluster: str) -> None:
        if cluster in self._stopped:
            self._stopped.discard(cluster)
            await self._world.servers[cluster].start()

    async def _stop_controller(self) -> None:
        if self._world.controller is not None:
            await self._world.stop_controller()

    async def _start_controller(self, members: tuple[str, ...]) -> None:
        await self._stop_controller()
        await self._world.start_controller(members)

    async def _restart_dns(self, cluster: str) -> None:
        await self._world.stop_dns(cluster)
        await self._world.start_dns(cluster)

    def _api(self, cluster: str) -> Api:
        return self._world.servers[cluster].api

    def _apply(self, cluster: str, short: Object) -> None:
        known, obj = expanded(short)
        api = self._api(cluster)
        resource = resource_of(api, known.kind)
        self._repair_one(api, resource, obj["metadata"].get("namespace", ""), obj["metadata"]["name"])
        api.apply(resource, obj, options=USER)

    def _delete(self, cluster: str, kind: str, namespace: str, name: str) -> None:
        api = self._api(cluster)
        self._try(lambda: api.delete(resource_of(api, kind), namespace, name))

    def _try(self, write: Callable[[], object]) -> None:
        try:
            write()
        except StatusError:
            return


def _labelled(obj: Object, spoiled: Object) -> Object:
    metadata = obj["metadata"]
    labels = {name: value for name, value in (metadata.get("labels") or {}).items() if name != "spoiled"}
    return {**obj, "metadata": {**metadata, "labels": labels | spoiled}}


def _slice_name(service: str, number: int, family: int) -> str:
    return f"{service}-{number}-v{family}"


STRANGERS: tuple[Object, ...] = (
    # Where the derived Service of shop/api would be.
    {
        "Service": "shop/derived-edt41efodf",
        "ports": ["any 9"],
        "metadata": {"labels": {"owner": "stranger", "in-the-place-of": "api"}},
    },
    {
        "EndpointSlice": "shop/strange",
        "service": "api",
        "not ready": ["10.99.0.1"],
        "metadata": {
            "labels": {
                "owner": "stranger",
                "multicluster.kubernetes.io/service-name": "api",
                "multicluster.kubernetes.io/source-cluster": "east",
            }
        },
    },
)


def resource_of(api: Api, kind: str) -> ResourceType:
    """What the sandbox knows of one of the kinds that scenarios use."""
    known = RESOURCES[kind]
    return next(each for each in api.registry if (each.group, each.plural) == (known.group, known.plural))


def objects_of(api: Api, kind: str) -> list[Object]:
    """All objects of a kind, as they are stored."""
    return api.list(resource_of(api, kind))


def is_ours(obj: Object) -> bool:
    """Whether the object carries our label."""
    return _OURS.items() <= (obj["metadata"].get("labels") or {}).items()
