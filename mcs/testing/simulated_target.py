"""A cluster as far as plans can tell: it carries actions out as an API server would, in memory and at once.

It gives uids, resource versions and cluster IPs, keeps what others wrote into our objects, and takes back what we no
longer apply. It refuses what a real server refuses in this: a delete with stale preconditions, an address that is not
in canonical form, and a Service without ports, with several ports and an unnamed one, or of a family that the
cluster lacks.
"""

from collections.abc import Iterable, Mapping
from ipaddress import ip_address
from typing import Any

from msgspec.structs import replace

from mcs.model.actions import Action, Apply, Delete, RecordEvent
from mcs.model.events import Event
from mcs.model.meta import Condition, KubernetesObject, ObjectMeta
from mcs.model.multicluster import READY, ServiceImport
from mcs.model.names import ClusterId, ServiceKey, derived_service_name
from mcs.model.policy import DEFAULT_POLICY
from mcs.model.services import Service
from mcs.model.slices import EndpointSlice
from mcs.services.observed import Exporter, NamespacePhase, NodeZones, ObservedTarget
from mcs.services.plan import plan_target
from mcs.testing.builders import at

Kept = tuple[str, str]
"""Plural and name of an object; a simulated target holds one namespace."""


class RefusedError(Exception):
    """The API server would have answered 409 or 422."""


class SimulatedTarget:
    """The objects of one service in one cluster. `families` are those of the cluster, the first one primary."""

    def __init__(self, target: str, key: ServiceKey, families: tuple[str, ...] = ("IPv4", "IPv6")) -> None:
        self.target = ClusterId(target)
        self.key = key
        self.families = families
        self.objects: dict[Kept, Any] = {}
        self.known_families: frozenset[str] | None = None
        """What plans are told of `families`."""
        self.refused_distributions: frozenset[str] = frozenset()
        self.zones: NodeZones | None = None
        self.policy = DEFAULT_POLICY
        self.events: list[Event] = []
        self.writes = 0
        self._applied: dict[Kept, ObjectMeta] = {}

    def observed(
        self,
        exporters: Iterable[Exporter],
        seen: Iterable[str],
        now: str,
        namespace: NamespacePhase = "present",
    ) -> ObservedTarget:
        """What a plan sees of this target while `exporters` are what the `seen` clusters export."""
        return ObservedTarget(
            target=self.target,
            key=self.key,
            seen=frozenset(ClusterId(cluster) for cluster in seen),
            exporters=tuple(exporters),
            namespace=namespace,
            derived=self.derived,
            service_import=self.service_import,
            mirrors=self.mirrors,
            now=now,
            families=self.known_families,
            refused_distributions=self.refused_distributions,
            zones=self.zones,
            policy=self.policy,
        )

    @property
    def derived(self) -> Service | None:
        """Whatever Service has the derived name."""
        found: Service | None = self.objects.get(("services", derived_service_name(self.key)))
        return found

    @property
    def service_import(self) -> ServiceImport | None:
        """The ServiceImport of the service."""
        found: ServiceImport | None = self.objects.get(("serviceimports", self.key.name))
        return found

    @property
    def mirrors(self) -> tuple[EndpointSlice, ...]:
        """All slices."""
        return tuple(obj for (plural, _), obj in self.objects.items() if plural == "endpointslices")

    def put(self, plural: str, obj: KubernetesObject) -> None:
        """Let somebody else create or change an object."""
        self._store((plural, obj.metadata.name), obj)

    def rounds_to_rest(self, exporters: Iterable[Exporter], seen: Iterable[str], now: str) -> int:
        """Plan and carry out until nothing is planned; the number of rounds in which something was, at most 9."""
        exporters, seen = tuple(exporters), tuple(seen)
        for rounds in range(10):
            actions = plan_target(self.observed(exporters, seen, now))
            if not actions:
                return rounds
            self.carry_out(actions)
        return rounds

    def plan(
        self, *exporters: Exporter, seen: Iterable[str] = ("c1", "c2", "c3"), now: str = at(200)
    ) -> tuple[Action, ...]:
        """What is planned here while `exporters` are what the `seen` clusters export."""
        return plan_target(self.observed(exporters, seen, now))

    def carry_out(self, actions: Iterable[Action]) -> None:
        """Carry out actions in their order. Raises RefusedError."""
        for action in actions:
            self.writes += 1
            match action:
                case Apply(subresource="status"):
                    self._apply_status(action)
                case Apply():
                    self._apply(action)
                case Delete():
                    self._delete(action)
                case RecordEvent():
                    self.events.append(action.object)
                    self.writes -= 1

    def _apply(self, action: Apply) -> None:
        kept = action.resource.plural, action.object.metadata.name
        present: KubernetesObject | None = self.objects.get(kept)
        before, wanted = present.metadata if present else ObjectMeta(), action.object.metadata
        if isinstance(action.object, EndpointSlice):
            _check_addresses(action.object)
        ours = self._applied.get(kept, ObjectMeta())
        obj: Any = replace(
            action.object,
            metadata=replace(
                before,
                name=wanted.name,
                namespace=wanted.namespace,
                labels=_merged(before.labels, ours.labels, wanted.labels),
                annotations=_merged(before.annotations, ours.annotations, wanted.annotations),
            ),
        )
        if isinstance(obj, Service):
            obj = self._with_addresses(obj, present if isinstance(present, Service) else None)
        if isinstance(obj, ServiceImport) and isinstance(present, ServiceImport):
            obj = replace(obj, status=present.status)
        self._applied[kept] = wanted
        self._store(kept, obj)

    def _apply_status(self, action: Apply) -> None:
        kept = action.resource.plural, action.object.metadata.name
        applied: Any = action.object
        self._store(kept, replace(self.objects[kept], status=applied.status))

    def _delete(self, action: Delete) -> None:
        kept = action.resource.plural, action.name
        metadata = self.objects[kept].metadata
        if (metadata.uid, metadata.resource_version) != (action.uid, action.resource_version):
            raise RefusedError(f"{kept} changed since the plan was made")
        del self.objects[kept]
        self._applied.pop(kept, None)

    def _with_addresses(self, service: Service, present: Service | None) -> Service:
        spec = service.spec
        if not spec.ports or (len(spec.ports) > 1 and not all(port.name for port in spec.ports)):
            raise RefusedError(
                "spec.ports: a name is required for each of several ports, and at least one port"
            )
        held = dict(zip(present.spec.ip_families, present.spec.cluster_ips, strict=True)) if present else {}
        preferred = tuple(dict.fromkeys((*held, *self.families)))
        families = spec.ip_families or preferred[: 1 if spec.ip_family_policy == "SingleStack" else 2]
        if not set(families) <= set(self.families):
            raise RefusedError(f"spec.ipFamilies: {families} not configured on this cluster")
        if held and next(iter(held)) != families[0]:
            raise RefusedError("spec.ipFamilies[0]: may not change once set")
        addresses = tuple(held.get(family) or self._new_address(family) for family in families)
        return replace(
            service,
            spec=replace(spec, ip_families=families, cluster_ips=addresses, cluster_ip=addresses[0]),
        )

    def _new_address(self, family: str) -> str:
        return f"10.96.0.{self.writes % 250 + 1}" if family == "IPv4" else f"fd00:96::{self.writes + 1:x}"

    def _store(self, kept: Kept, obj: KubernetesObject) -> None:
        before = self.objects.get(kept)
        version = str(int(before.metadata.resource_version or 0) + 1) if before else "1"
        uid = before.metadata.uid if before else f"{'/'.join(kept)}@{self.writes}"
        self.objects[kept] = replace(obj, metadata=replace(obj.metadata, uid=uid, resource_version=version))


def _check_addresses(endpoint_slice: EndpointSlice) -> None:
    for endpoint in endpoint_slice.endpoints or ():
        for address in endpoint.addresses:
            if str(ip_address(address)) != address:
                raise RefusedError(f"endpoints[].addresses[]: {address} must be in canonical form")


def settled_target(*exporters: Exporter, families: tuple[str, ...] = ("IPv4", "IPv6")) -> SimulatedTarget:
    """c1 when nothing is left to do for what c1, c2 and c3 export."""
    target = SimulatedTarget("c1", exporters[0].export.key, families)
    target.rounds_to_rest(exporters, ("c1", "c2", "c3"), at(100))
    return target


def import_of(target: SimulatedTarget) -> ServiceImport:
    """The ServiceImport, which is there."""
    assert target.service_import is not None
    return target.service_import


def ready_of(target: SimulatedTarget) -> Condition:
    """The one condition of the ServiceImport."""
    (condition,) = import_of(target).status.conditions
    assert condition.type == READY
    return condition


def strip_labels(target: SimulatedTarget, plural: str) -> None:
    """Let somebody else take the labels off all objects of a kind, so that they are not ours any more."""
    for (each, _), obj in list(target.objects.items()):
        if each == plural:
            target.put(plural, replace(obj, metadata=replace(obj.metadata, labels={})))


def in_words(actions: Iterable[Action]) -> list[str]:
    """Each action in words: "apply services", "apply serviceimports/status", "delete endpointslices",
    "event TypeChanged"."""
    words = []
    for action in actions:
        match action:
            case Apply(subresource=""):
                words.append(f"apply {action.resource}")
            case Apply():
                words.append(f"apply {action.resource}/{action.subresource}")
            case Delete():
                words.append(f"delete {action.resource}")
            case RecordEvent():
                words.append(f"event {action.object.reason}")
    return words


def _merged(present: Mapping[str, str], ours: Mapping[str, str], wanted: Mapping[str, str]) -> dict[str, str]:
    return {**{key: value for key, value in present.items() if key not in ours}, **wanted}
