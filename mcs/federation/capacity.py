"""How many replicas of a workload a cluster can hold: those that have a place, and how many more fit beside all else.

Two sources say it. Its Nodes and Pods tell what fits before anything is asked for: node by node, for what is free in
sum need not be free anywhere. It is what the scheduler asks of resources, host ports, taints, node selectors and node
affinity; affinity between pods, volumes, topology spread and quotas are not looked at. Of those tells the other
source, KubeFed's: replicas that have waited for a place for a minute. The lower of the two counts.

Waiting replicas are gone as soon as fewer are asked for, and what they told must outlive them, else the same are
asked for again: it is held for RETRY, unless more run meanwhile.

Who reads Nodes and Pods, and from where, is left to others.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import TypeVar

import msgspec
from msgspec import Struct

from mcs.model.meta import parse_timestamp
from mcs.model.pods import (
    FINISHED,
    POD_SCHEDULED,
    READY,
    UNSCHEDULABLE,
    UNSCHEDULABLE_TAINT,
    Host,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    Pod,
    PodSpec,
    Quantity,
    Resources,
)
from mcs.model.quantities import UNIT, parse_quantity
from mcs.model.selectors import Operator, Requirement
from mcs.model.taints import NO_EXECUTE, NO_SCHEDULE, Taint, is_tolerated

K = TypeVar("K")

WAITED_ENOUGH = timedelta(seconds=60)
"""A replica that has waited so long for a place tells that there is none (KubeFed)."""
RETRY = timedelta(minutes=10)
"""For so long what waiting replicas told is taken for true after they are gone."""

Amounts = Mapping[str, int]
"""Resources by name, in billionths."""
HostPort = tuple[str, int]
"""Protocol and number."""

_PODS = "pods"
_POD_LEVEL = ("cpu", "memory")
_OPERATORS: Mapping[str, Operator] = {
    "In": "in",
    "NotIn": "notin",
    "Exists": "exists",
    "DoesNotExist": "does not exist",
}


class CapacityError(ValueError):
    """What a pod asks for cannot be read; the message says where and what to write."""


class Footprint(Struct, frozen=True):
    """What a pod takes up, or what one more would."""

    requests: Amounts
    host_ports: frozenset[HostPort] = frozenset()


class Needs(Struct, frozen=True):
    """What a pod template asks for: its footprint, and which Nodes it may be on."""

    footprint: Footprint
    spec: PodSpec


class Used(Struct, frozen=True):
    """What the pods of one Node take up together."""

    pods: int = 0
    requests: Amounts = {}
    host_ports: Mapping[HostPort, int] = {}

    def with_pod(self, footprint: Footprint, times: int = 1) -> "Used":
        """With one pod more, or with `times` -1 without one that was counted."""
        return Used(
            self.pods + times,
            _sum(self.requests, footprint.requests, times),
            _sum(self.host_ports, dict.fromkeys(footprint.host_ports, 1), times),
        )


def needs_of(template: object) -> Needs:
    """What the pods of a decoded `spec.template` ask for. Raises CapacityError."""
    spec = template.get("spec") if isinstance(template, dict) else None
    try:
        read = msgspec.convert(spec, PodSpec)
        return Needs(footprint_of(read), read)
    except ValueError as error:
        raise CapacityError(f"spec.template.spec cannot be read: {error}") from error


def footprint_of(spec: PodSpec) -> Footprint:
    """What a pod takes up. Raises ValueError for an amount that is none.

    Containers run together, beside all sidecars; an init container runs beside the sidecars before it only. What is
    asked for the pod as a whole goes before that. Source: Kubernetes, "Resource sharing within containers" of
    "Init Containers", "Sidecar Containers" and "Pod-level resources".
    """
    sidecars: Amounts = {}
    most: Amounts = {}
    for container in spec.init_containers or ():
        requests = _requests(container.resources)
        if container.restart_policy == "Always":
            sidecars = _sum(sidecars, requests)
        else:
            most = _most(most, _sum(sidecars, requests))
    together = sidecars
    for container in spec.containers:
        together = _sum(together, _requests(container.resources))
    requests = _sum(_of_pod(spec.resources, _most(most, together)), _amounts(spec.overhead or {}))
    return Footprint(
        {name: amount for name, amount in requests.items() if amount > 0}, frozenset(_host_ports(spec))
    )


def _of_pod(resources: Resources | None, of_containers: Amounts) -> Amounts:
    """What is asked for the pod as a whole in place of the sum of its containers."""
    if resources is None:
        return of_containers
    whole = {**_amounts(resources.limits), **of_containers, **_amounts(resources.requests)}
    return {
        name: amount
        for name, amount in whole.items()
        if name in of_containers or name in _POD_LEVEL or name.startswith("hugepages-")
    }


def is_active(pod: Pod) -> bool:
    """True for a replica that is there or on its way: neither finished nor being deleted."""
    return pod.status.phase not in FINISHED and not pod.is_terminating


def takes_up(pod: Pod) -> bool:
    """True for a pod that has a Node and holds on to what it asked for there; one that is deleted does until gone."""
    return bool(pod.spec.node_name) and pod.status.phase not in FINISHED


def used_by(pods: Iterable[Pod]) -> dict[str, Used]:
    """What pods take up of each Node, by its name."""
    used: dict[str, Used] = {}
    for pod in filter(takes_up, pods):
        name = pod.spec.node_name
        used[name] = used.get(name, Used()).with_pod(footprint_of(pod.spec))
    return used


def fits(needs: Needs, hosts: Iterable[Host], used: Mapping[str, Used]) -> int:
    """How many more of these pods fit, all Nodes together."""
    return sum(fits_on(needs, host, used.get(host.metadata.name, Used())) for host in hosts)


def fits_on(needs: Needs, host: Host, used: Used) -> int:
    """How many more of these pods fit on one Node, beside what it has.

    A Node that does not tell how many pods it takes takes none, and none of a resource that it does not have.
    """
    footprint = needs.footprint
    if not _is_suited(needs.spec, host) or any(used.host_ports.get(port) for port in footprint.host_ports):
        return 0
    try:
        free = _sum(_amounts(host.status.allocatable), used.requests, -1)
    except ValueError:
        return 0
    room = [free.get(_PODS, 0) // UNIT - used.pods]
    room += (free.get(name, 0) // amount for name, amount in footprint.requests.items())
    if footprint.host_ports:
        room.append(1)
    return max(0, min(room))


class Replicas(Struct, frozen=True):
    """The replicas of a workload in a cluster.

    `ready` run and are ready, `placed` have a Node, `unschedulable` have waited enough for one. `recheck` is when the
    next one will have; None when none waits.
    """

    ready: int = 0
    placed: int = 0
    unschedulable: int = 0
    recheck: datetime | None = None


def replicas_of(pods: Iterable[Pod], now: datetime) -> Replicas:
    """What the pods of a workload tell. One without a readable time of its condition has not waited enough."""
    ready = placed = unschedulable = 0
    waiting: list[datetime] = []
    for pod in filter(is_active, pods):
        placed += bool(pod.spec.node_name)
        condition = pod.condition(READY)
        ready += pod.status.phase == "Running" and condition is not None and condition.status == "True"
        since = _unschedulable_since(pod)
        if since is not None and now - since >= WAITED_ENOUGH:
            unschedulable += 1
        elif since is not None:
            waiting.append(since + WAITED_ENOUGH)
    return Replicas(ready, placed, unschedulable, min(waiting, default=None))


def _unschedulable_since(pod: Pod) -> datetime | None:
    condition = pod.condition(POD_SCHEDULED)
    if condition is None or condition.status != "False" or condition.reason != UNSCHEDULABLE:
        return None
    return parse_timestamp(condition.last_transition_time or "")


class Full(Struct, frozen=True):
    """What waiting replicas told: a cluster held `capacity` of them and no more, at the time `since`."""

    capacity: int
    since: datetime


class Capacity(Struct, frozen=True):
    """How many replicas a cluster can hold; None when nothing is known that limits it.

    `full` is to be remembered for the next time, `recheck` when to ask again though nothing was seen to change.
    """

    replicas: int | None
    full: Full | None = None
    recheck: datetime | None = None


def capacity_of(
    wanted: int, seen: Replicas, more: int | None, before: Full | None, now: datetime
) -> Capacity:
    """The capacity of a cluster whose workload asks for `wanted` replicas.

    `more` is how many more fit by its Nodes, None where these are not seen. `before` is what was remembered.
    """
    full = _full(wanted, seen, before, now)
    bounds = [] if more is None else [seen.placed + more]
    rechecks = [] if seen.recheck is None else [seen.recheck]
    if full is not None:
        bounds.append(full.capacity)
        rechecks.append(full.since + RETRY)
    return Capacity(min(bounds, default=None), full, min(rechecks, default=None))


def _full(wanted: int, seen: Replicas, before: Full | None, now: datetime) -> Full | None:
    """While replicas wait its time is renewed every half RETRY only, so that it is seldom written."""
    age = None if before is None else now - before.since
    if seen.unschedulable:
        capacity = max(0, wanted - seen.unschedulable)
        is_news = before is None or age is None or before.capacity != capacity or age >= RETRY / 2
        return Full(capacity, now) if is_news else before
    if before is None or age is None or age >= RETRY or seen.placed > before.capacity:
        return None
    return before


def _is_suited(spec: PodSpec, host: Host) -> bool:
    """Whether the scheduler would consider the Node at all (its filters NodeName, TaintToleration, NodeAffinity …)."""
    name, labels = host.metadata.name, host.metadata.labels
    if spec.node_name and spec.node_name != name:
        return False
    taints = list(host.spec.taints or ())
    if host.spec.unschedulable:
        taints.append(Taint(key=UNSCHEDULABLE_TAINT, effect=NO_SCHEDULE))
    tolerations = spec.tolerations or ()
    if any(
        taint.effect in (NO_SCHEDULE, NO_EXECUTE) and not is_tolerated(taint, tolerations) for taint in taints
    ):
        return False
    if any(labels.get(key) != value for key, value in (spec.node_selector or {}).items()):
        return False
    affinity = spec.affinity.node_affinity if spec.affinity else None
    required = affinity.required_during_scheduling_ignored_during_execution if affinity else None
    return required is None or any(_is_met(term, name, labels) for term in required.node_selector_terms)


def _is_met(term: NodeSelectorTerm, name: str, labels: Mapping[str, str]) -> bool:
    if not term.match_expressions and not term.match_fields:
        return False
    return all(_holds(each, labels) for each in term.match_expressions) and all(
        _holds(each, {"metadata.name": name}) for each in term.match_fields
    )


def _holds(expression: NodeSelectorRequirement, labels: Mapping[str, str]) -> bool:
    if (operator := _OPERATORS.get(expression.operator)) is not None:
        return Requirement(expression.key, operator, frozenset(expression.values)).is_met(labels)
    try:
        number, (bound,) = int(labels[expression.key]), map(int, expression.values)
    except (KeyError, ValueError):
        return False
    return (expression.operator == "Gt" and number > bound) or (
        expression.operator == "Lt" and number < bound
    )


def _requests(resources: Resources | None) -> Amounts:
    return {} if resources is None else _amounts({**resources.limits, **resources.requests})


def _amounts(written: Mapping[str, Quantity]) -> dict[str, int]:
    return {name: parse_quantity(quantity) for name, quantity in written.items()}


def _sum(left: Mapping[K, int], right: Mapping[K, int], times: int = 1) -> dict[K, int]:
    """`times` as much of `right` added; what is 0 then is left out."""
    added = {name: left.get(name, 0) + times * right.get(name, 0) for name in {**left, **right}}
    return {name: amount for name, amount in added.items() if amount}


def _most(left: Amounts, right: Amounts) -> Amounts:
    return {name: max(left.get(name, 0), right.get(name, 0)) for name in {**left, **right}}


def _host_ports(spec: PodSpec) -> Iterable[HostPort]:
    for container in (*spec.containers, *(spec.init_containers or ())):
        for port in container.ports or ():
            number = port.host_port or (port.container_port if spec.host_network else 0)
            if number:
                yield port.protocol, number
