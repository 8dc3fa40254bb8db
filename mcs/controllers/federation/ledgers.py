"""Keeps the ledgers and tombstones of a type in the host. What is in them is decided in `mcs.federation.ledger`."""

from typing import Any

import msgspec
from msgspec.structs import replace

from mcs.controllers.federation.picture import Picture, gone
from mcs.federation.ledger import (
    Entries,
    LedgerPlace,
    joined,
    ledger_place,
    new_ledger,
    tombstone,
    tombstone_place,
)
from mcs.kube.errors import Unreachable
from mcs.model.actions import Action, Apply, Delete, Patch
from mcs.model.federated import FederatedObject, PropagatedVersion, PropagatedVersionStatus
from mcs.model.names import ServiceKey
from mcs.runtime.cache import Cache


class Ledgers:
    """The ledgers as the host's cache has them, which has every write of ours as soon as it was answered."""

    def __init__(self, picture: Picture) -> None:
        self._picture = picture

    @property
    def _cache(self) -> Cache[PropagatedVersion]:
        return self._picture.host.caches[self._picture.kinds.ledger.plural]

    def of(self, key: ServiceKey) -> PropagatedVersion | None:
        """The ledger of an object."""
        return self._cache.get(_key_of(self._place(key)))

    def tombstone_of(self, key: ServiceKey) -> PropagatedVersion | None:
        """The tombstone of an object."""
        return self._cache.get(_key_of(self._tombstone_place(key)))

    def entries(self, key: ServiceKey) -> Entries | None:
        """What both of them have; None when there is neither."""
        ledger, stone = self.of(key), self.tombstone_of(key)
        if ledger is None and stone is None:
            return None
        return joined(
            ledger.status.cluster_versions if ledger is not None else (),
            stone.status.cluster_versions if stone is not None else (),
        )

    def is_unreadable(self, key: ServiceKey) -> bool:
        """True when there is one that could not be decoded: nobody knows then which clusters hold the object."""
        places = (self._place(key), self._tombstone_place(key))
        return any(_key_of(each) in self._cache.malformed for each in places)

    async def store(self, key: ServiceKey, entries: Entries) -> None:
        """Have exactly these entries in the ledger, which is made if there is none. Raises KubeError."""
        ledger = self.of(key)
        if ledger is None:
            ledger = await self._make(new_ledger(self._picture.kinds.target, gone(key, {})))
        await self._write(ledger, entries)

    async def store_tombstone(self, key: ServiceKey, federated: FederatedObject, entries: Entries) -> None:
        """Have exactly these entries in the tombstone, which is made if there is none. Raises KubeError."""
        stone = self.tombstone_of(key)
        if stone is None:
            target, system = self._picture.kinds.target, self._picture.settings.system_namespace
            stone = await self._make(tombstone(target, federated, entries, system))
        await self._write(stone, entries)

    async def delete(self, *ledgers: PropagatedVersion | None) -> None:
        """Delete those that there are. Raises KubeError."""
        host = self._picture.host
        found = [each for each in ledgers if each is not None]
        await self._execute(*(Delete.of(host.cluster, self._picture.kinds.ledger, each) for each in found))

    async def _make(self, ledger: PropagatedVersion) -> PropagatedVersion:
        # Its status is a subresource: it is written by itself.
        bare = replace(ledger, status=PropagatedVersionStatus())
        resource = self._picture.kinds.ledger
        await self._execute(
            Apply(cluster=self._picture.host.cluster, resource=resource, object=bare, is_hashed=True)
        )
        return self._cache.get(bare.key) or bare

    async def _write(self, ledger: PropagatedVersion, entries: Entries) -> None:
        if ledger.status.cluster_versions == entries:
            return
        metadata = ledger.metadata
        changes: dict[str, Any] = {
            "metadata": {"resourceVersion": metadata.resource_version},
            "status": {"clusterVersions": msgspec.to_builtins(entries)},
        }
        await self._execute(
            Patch(
                cluster=self._picture.host.cluster,
                resource=self._picture.kinds.ledger,
                namespace=metadata.namespace,
                name=metadata.name,
                changes=changes,
                subresource="status",
            )
        )

    async def _execute(self, *actions: Action) -> None:
        executor = self._picture.host.executor
        if executor is None:
            raise Unreachable("the host cluster cannot be reached")
        await executor.execute(actions)

    def _place(self, key: ServiceKey) -> LedgerPlace:
        return ledger_place(self._picture.kinds.target, gone(key, {}))

    def _tombstone_place(self, key: ServiceKey) -> LedgerPlace:
        kinds, settings = self._picture.kinds, self._picture.settings
        return tombstone_place(kinds.target, gone(key, {}), settings.system_namespace)


def _key_of(place: LedgerPlace) -> ServiceKey:
    return ServiceKey(place.namespace, place.name)
