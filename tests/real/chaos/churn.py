"""The services of a storm, what users do to them meanwhile, and which addresses DNS may answer with.

Pure: objects in the short form of scenarios, drawn from a seed. Nobody knows when a change arrives, so of a name only
that is said which holds at any time: the addresses that it has always, and those that it may ever have.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from mcs.model.resources import SERVICE_EXPORTS, SERVICES, Resource

NAMESPACE = "storm"
CLUSTERS = ("east", "west", "north")
CONSTANT = ("east", "west")
"""Clusters that are members all the time."""
NEWCOMER = "north"
"""The one that is not, and that has no CRDs at first."""

FLEETING = 8
_HOSTS = range(2, 8)
"""The last byte of addresses that come and go; that of the one which stays is 1."""


class Service(Struct, frozen=True):
    """A service of a storm: who exports it, and whether its exports, or endpoints of it, come and go."""

    name: str
    exporters: tuple[str, ...]
    headless: bool = True
    rolls: bool = False
    is_fleeting: bool = False

    @property
    def domain(self) -> str:
        """Its name in the zone."""
        return f"{self.name}.{NAMESPACE}.svc.clusterset.local"

    def address(self, cluster: str, host: int = 1) -> str:
        """An address of an endpoint in one of its clusters."""
        return f"10.{50 + CLUSTERS.index(cluster)}.{SERVICES_OF_A_STORM.index(self)}.{host}"

    @property
    def always(self) -> frozenset[str]:
        """What a headless service has at any time."""
        if self.is_fleeting:
            return frozenset()
        return frozenset(self.address(each) for each in self.exporters if each in CONSTANT)

    @property
    def ever(self) -> frozenset[str]:
        """What a headless service may ever have."""
        comes = _HOSTS if self.rolls else ()
        return frozenset(self.address(each, host) for each in self.exporters for host in (1, *comes))


SERVICES_OF_A_STORM = (
    Service("ip-of-east", ("east",), headless=False),
    Service("ip-of-west", ("west",), headless=False, rolls=True),
    Service("ip-of-all", CLUSTERS, headless=False, rolls=True),
    Service("of-east", ("east",)),
    Service("of-west", ("west",)),
    Service("of-all", CLUSTERS),
    Service("rolling-in-east", ("east",), rolls=True),
    Service("rolling-in-west", ("west",), rolls=True),
    Service("rolling-in-all", CLUSTERS, rolls=True),
    *(Service(f"fleeting-{number}", CLUSTERS, rolls=True, is_fleeting=True) for number in range(FLEETING)),
)
NAMES = tuple(each.domain for each in SERVICES_OF_A_STORM)

Json = Mapping[str, Any]


class Removal(Struct, frozen=True):
    """A user deletes an object."""

    resource: Resource[Any]
    name: str


Step = Json | Removal
"""What a user does: apply an object in short form, or delete one."""


def first_steps(cluster: str) -> list[Step]:
    """What is exported when the storm begins; with the fleeting services it goes on and off from there."""
    steps: list[Step] = [{"Namespace": NAMESPACE}]
    for service in SERVICES_OF_A_STORM:
        if cluster in service.exporters:
            steps += [_service(service), _slice(service, cluster, ()), _export(service)]
    return steps


def churn(seed: str, cluster: str) -> Iterator[Step]:
    """What the users of a cluster do one after the other, for ever."""
    chance = random.Random(f"{seed} {cluster}")
    changing = [each for each in SERVICES_OF_A_STORM if each.rolls and cluster in each.exporters]
    gone: set[str] = set()
    while True:
        service = chance.choice(changing)
        if not service.is_fleeting or chance.random() < 0.4:
            yield _slice(service, cluster, chance.sample(_HOSTS, chance.randrange(4)))
        elif service.name in gone:
            gone.discard(service.name)
            yield from chance.sample((_service(service), _export(service)), 2)
        else:
            gone.add(service.name)
            removals = [Removal(SERVICE_EXPORTS, service.name), Removal(SERVICES, service.name)]
            yield from chance.sample(removals, chance.choice((1, 2)))


def _service(service: Service) -> Json:
    return {"Service": f"{NAMESPACE}/{service.name}", "ports": ["http 80"], "headless": service.headless}


def _export(service: Service) -> Json:
    return {"ServiceExport": f"{NAMESPACE}/{service.name}"}


def _slice(service: Service, cluster: str, hosts: Sequence[int]) -> Json:
    return {
        "EndpointSlice": f"{NAMESPACE}/{service.name}-1",
        "service": service.name,
        "ports": ["http 80"],
        "ready": [service.address(cluster, host) for host in (1, *sorted(hosts))],
    }
