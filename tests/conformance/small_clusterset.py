"""Three clusters that have come to rest, and what is asked of them in more than one file."""

from msgspec.structs import replace

from mcs.model.meta import Condition
from mcs.model.multicluster import CONFLICT, ServiceImport
from mcs.model.names import ServiceKey
from mcs.services.observed import Exporter
from mcs.testing.builders import WEB
from mcs.testing.simulated_clusterset import SimulatedClusterset
from mcs.testing.simulated_target import SimulatedTarget

DUAL = ("IPv4", "IPv6")
SIX = ("IPv6",)


def settled(*exporters: Exporter, key: ServiceKey = WEB) -> SimulatedClusterset:
    """A clusterset in which `exporters` are all that is exported, and nobody has anything to write."""
    return SimulatedClusterset(key).settle(*exporters)


def edit_import(target: SimulatedTarget, **spec: object) -> ServiceImport:
    """Let somebody change the spec of the target's import; the import as it was before."""
    before = target.service_import
    assert before is not None
    target.put("serviceimports", replace(before, spec=replace(before.spec, **spec)))
    return before


def exporting(world: SimulatedClusterset) -> list[list[str]]:
    """The clusters that each import lists."""
    return [[each.cluster for each in found.status.clusters] for found in world.imports]


def conflict_of(world: SimulatedClusterset, cluster: str) -> Condition:
    """The condition Conflict of that cluster's export, which has one."""
    (found,) = [each for each in world.conditions[cluster] if each.type == CONFLICT]
    return found
