"""A small clusterset as far as plans can tell: simulated targets, and what the exports are told.

Exports come as values and rest until nobody has anything to write, minute by minute.
"""

from collections.abc import Mapping

from mcs.model.actions import Apply
from mcs.model.meta import Condition
from mcs.model.multicluster import ServiceExport, ServiceExportStatus, ServiceImport
from mcs.model.names import ServiceKey
from mcs.model.services import Service
from mcs.model.slices import EndpointSlice
from mcs.services.observed import Exporter, ObservedExport
from mcs.services.plan import plan_export
from mcs.testing.builders import WEB, at, export, exporter, slice_, slice_port
from mcs.testing.simulated_target import SimulatedTarget

CLUSTERS = ("c1", "c2", "c3")


class SimulatedClusterset:
    """Three targets of one service, and what its exports say of themselves."""

    def __init__(self, key: ServiceKey = WEB, clusters: tuple[str, ...] = CLUSTERS) -> None:
        self.key = key
        self.targets = {cluster: SimulatedTarget(cluster, key) for cluster in clusters}
        self.conditions: dict[str, tuple[Condition, ...]] = {}
        self._minute = 0

    def settle(self, *exporters: Exporter) -> "SimulatedClusterset":
        """Let `exporters` be all that is exported, until nobody has anything to write."""
        self._minute += 1
        now = at(60 * self._minute)
        for target in self.targets.values():
            target.rounds_to_rest(exporters, self.targets, now)
        told = tuple(self._with_conditions(each) for each in exporters)
        self.conditions = {each.cluster: self._conditions_of(each, told, now) for each in told}
        return self

    def _with_conditions(self, each: Exporter) -> Exporter:
        status = ServiceExportStatus(conditions=self.conditions.get(each.cluster, ()))
        metadata, spec = each.export.metadata, each.export.spec
        told = ServiceExport(metadata=metadata, spec=spec, status=status)
        return Exporter(each.cluster, told, each.service, each.slices)

    def _conditions_of(self, each: Exporter, told: tuple[Exporter, ...], now: str) -> tuple[Condition, ...]:
        seen = frozenset(target.target for target in self.targets.values())
        own = self.targets[each.cluster].service_import
        for action in plan_export(ObservedExport(each.cluster, self.key, seen, told, own, now)):
            assert isinstance(action, Apply)
            assert isinstance(action.object, ServiceExport)
            return action.object.status.conditions
        return each.export.status.conditions

    def reasons(self, type_: str) -> Mapping[str, str]:
        """The reason of that condition by exporting cluster."""
        return {
            cluster: each.reason
            for cluster, found in self.conditions.items()
            for each in found
            if each.type == type_
        }

    @property
    def imports(self) -> list[ServiceImport]:
        """The imports of all clusters."""
        return [each.service_import for each in self.targets.values() if each.service_import]

    def ports(self, cluster: str = "c1") -> list[str]:
        """Ports of the import, "name port/protocol"."""
        found = self.targets[cluster].service_import
        return [f"{each.name} {each.port}/{each.protocol}" for each in found.spec.ports] if found else []

    def derived_ports(self, cluster: str = "c1") -> list[str]:
        """Ports of the derived Service, likewise."""
        found = self.targets[cluster].derived
        return [f"{each.name} {each.port}/{each.protocol}" for each in found.spec.ports] if found else []

    def mirrors(self, source: str, cluster: str = "c1") -> list[EndpointSlice]:
        """The mirrors of one source cluster in a target."""
        return [each for each in self.targets[cluster].mirrors if each.source_cluster == source]

    def served(self, port: str, cluster: str = "c1") -> list[str]:
        """Source clusters to which traffic for the port of that name goes."""
        return sorted(
            {
                each.source_cluster
                for each in self.targets[cluster].mirrors
                for found in each.ports or ()
                if found.name == port and each.endpoints
            }
        )


def exports(cluster: str, exported: Service | None, *ports: str, key: ServiceKey = WEB) -> Exporter:
    """`cluster` exports the Service, with one endpoint that serves `ports`; c1 is the oldest, c3 the youngest."""
    number = int(cluster[1:])
    slices = slice_(
        "web-1",
        f"10.{number}.0.5",
        key=key,
        ports=tuple(slice_port(each) for each in ports or ("http 8080",)),
    )
    return exporter(cluster, exported, slices, created=number, export_=export(key, created=number))
