"""A compromised member: whatever it sends, the others keep what is theirs and go on syncing (F1, F4 and neighbours).

Two honest clusters hold what users and the controller made there. A third member serves crafted objects. In the others
nothing may change but what it may publish: mirrors under its own id, and imports of services that it may export.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from mcs.kube import client as kube_client
from mcs.model.names import (
    MANAGED_BY,
    MANAGED_BY_LABEL,
    SERVICE_NAME_LABEL,
    ClusterId,
    ServiceKey,
    derived_service_name,
)
from mcs.model.policy import Caps, MemberPolicy, Policy
from mcs.model.resources import ENDPOINT_SLICES, NAMESPACES, SERVICE_IMPORTS, SERVICES
from mcs.testing.virtual_time import run_virtual
from tests.e2e.hostile_api import HostileApi, added, export, exported, meta, registered, service, slice_
from tests.scenarios.objects import expanded
from tests.scenarios.world import World, running_world

HONEST = ("east", "west")
SOURCE = "multicluster.kubernetes.io/source-cluster"
OURS = {MANAGED_BY_LABEL: MANAGED_BY}
EAST_MIRROR = {
    **OURS,
    "endpointslice.kubernetes.io/managed-by": MANAGED_BY,
    SERVICE_NAME_LABEL: "web",
    SOURCE: "east",
}
TAKEN = derived_service_name(ServiceKey("demo", "taken"))
Objects = dict[str, list[Any]]
State = dict[str, str]


@dataclass(frozen=True)
class Attack:
    """What the member sends, and which services of demo it may thereby bring about in the others."""

    sends: Objects
    brings: frozenset[str] = frozenset()
    lines: dict[str, list[bytes]] = field(default_factory=dict)
    endless: frozenset[str] = frozenset()
    bodies: dict[str, bytes] = field(default_factory=dict)


def _merged(*parts: Objects) -> Objects:
    return {
        plural: [each for part in parts for each in part.get(plural, [])] for part in parts for plural in part
    }


def _many(count: int) -> bytes:
    one = '{"addresses":["10.6.%d.%d"]}'
    endpoints = ",".join(one % (number // 250 % 250, number % 250 + 1) for number in range(count))
    head = json.dumps({**slice_("evil"), "endpoints": []})
    body = head.replace('"endpoints": []', f'"endpoints": [{endpoints}]')
    return f'{{"metadata":{{"resourceVersion":"10"}},"items":[{body}]}}'.encode()


GOOD = exported("evil")
ATTACKS: dict[str, Attack] = {
    "an ordinary export is imported, so the others can tell": Attack(GOOD, frozenset({"evil"})),
    "F1: exports of system namespaces": Attack(
        _merged(
            *(exported("dns", namespace=each) for each in ("kube-system", "kube-public", "kube-node-lease"))
        )
    ),
    "F1: of the controller's own": Attack(exported("registry", namespace="kube-federation-system")),
    "F1: another namespace in the body than in the key": Attack(
        {
            **GOOD,
            "services": [service("evil", "kube-system")],
            "serviceexports": [export("evil", "kube-system")],
        }
    ),
    "a namespace that the others do not have": Attack(exported("web", namespace="nowhere")),
    "mirrors that claim another source cluster": Attack(
        {
            **GOOD,
            "endpointslices": [
                slice_("evil", "10.6.0.1"),
                {**slice_("web", "10.6.6.6"), "metadata": meta("demo", "web-x", labels=EAST_MIRROR)},
            ],
        },
        frozenset({"evil"}),
    ),
    "sources that claim another cluster": Attack(
        {
            **GOOD,
            "endpointslices": [
                {
                    **slice_("evil", "10.6.0.1"),
                    "metadata": meta(
                        "demo", "evil-1", labels={"kubernetes.io/service-name": "evil", SOURCE: "east"}
                    ),
                }
            ],
        },
        frozenset({"evil"}),
    ),
    "imports that list others": Attack(
        {
            "serviceimports": [
                {
                    "metadata": meta("demo", "web", labels=OURS),
                    "spec": {"type": "Headless", "ports": []},
                    "status": {"clusters": [{"cluster": "east"}, {"cluster": "west"}]},
                }
            ]
        }
    ),
    "a derived Service of a user's name": Attack(exported("taken"), frozenset({"taken"})),
    "the managed-by label on its own Service": Attack(
        {**GOOD, "services": [service("evil", labels={**OURS, SERVICE_NAME_LABEL: "web"})]}
    ),
    "giant names": Attack(exported("e" * 10_000)),
    "names with dots": Attack(exported("evil.web")),
    "names in upper case": Attack(exported("Evil")),
    "names that are paths": Attack(exported("../web")),
    "objects without names": Attack({plural: [{"metadata": {}}, {}] for plural in GOOD}),
    "wrong types": Attack(
        {
            plural: [5, None, "x", {"metadata": 5}, {"metadata": meta("demo", "web"), "spec": []}]
            for plural in GOOD
        }
    ),
    "lists that are none": Attack({}, bodies=dict.fromkeys(GOOD, b'{"items": 5}')),
    "endless lists": Attack(
        {plural: [service(f"s-{number}") for number in range(100)] for plural in GOOD},
        endless=frozenset(GOOD),
    ),
    "F4: 200,000 endpoints in one slice, more than a member may have": Attack(
        GOOD, bodies={"endpointslices": _many(200_000)}
    ),
    "90,000 endpoints in one slice": Attack(
        GOOD, frozenset({"evil"}), bodies={"endpointslices": _many(90_000)}
    ),
    "1,000,000 endpoints in one slice": Attack(GOOD, bodies={"endpointslices": _many(1_000_000)}),
    "addresses that mean the others themselves": Attack(
        exported("evil", "127.0.0.1", "169.254.169.254", "224.0.0.1", "0.0.0.0"), frozenset({"evil"})
    ),
    "ports that no server takes": Attack(
        {
            **GOOD,
            "endpointslices": [
                slice_(
                    "evil",
                    "10.6.0.1",
                    ports=[
                        {"name": "http", "port": -1},
                        {"name": "http", "port": 80, "appProtocol": "?"},
                        {"name": "http", "port": 81},
                    ],
                )
            ],
        },
        frozenset({"evil"}),
    ),
    "giant labels and annotations": Attack(
        {
            **GOOD,
            "serviceexports": [
                export(
                    "evil",
                    spec={
                        "exportedLabels": {f"l{number}": "x" * 9_000 for number in range(99)},
                        "exportedAnnotations": {"a": "x" * 900_000},
                    },
                )
            ],
        },
        frozenset({"evil"}),
    ),
    "names that go round in circles": Attack(
        GOOD,
        frozenset({"evil"}),
        lines={
            "serviceexports": [
                added({**export(name), "metadata": meta("demo", name, resourceVersion=str(20 + turn))}, what)
                for turn, (name, what) in enumerate(
                    [
                        ("a", "ADDED"),
                        ("b", "ADDED"),
                        ("a", "DELETED"),
                        ("c", "ADDED"),
                        ("b", "DELETED"),
                        ("a", "ADDED"),
                        ("c", "DELETED"),
                    ]
                    * 20
                )
            ]
        },
    ),
    "lines that are no events": Attack(
        GOOD, frozenset({"evil"}), lines={"services": [b"[]\n", b"\x00\xff\n"]}
    ),
    "F1: deletes of what it never had": Attack(
        GOOD,
        frozenset({"evil"}),
        lines={
            plural: [
                added({"metadata": meta(namespace, name)}, "DELETED")
                for namespace in ("demo", "kube-system")
                for name in ("web", "web-1", "dns", "")
            ]
            for plural in GOOD
        },
    ),
}


async def _prepare(world: World) -> None:
    for cluster in HONEST:
        for short in (
            {"Namespace": "demo"},
            {"Service": "demo/users", "ports": ["http 80"]},
            {"Service": f"demo/{TAKEN}", "ports": ["http 80"]},
            {"Service": "kube-system/dns", "ports": ["dns 53/UDP"]},
            {
                "EndpointSlice": "kube-system/dns-1",
                "service": "dns",
                "ports": ["dns 53/UDP"],
                "ready": ["10.1.0.53"],
            },
        ):
            await world.apis[cluster].apply(*expanded(short))
    for short in _web("web"):
        await world.apis["east"].apply(*expanded(short))


def _web(name: str) -> list[dict[str, Any]]:
    return [
        {"Service": f"demo/{name}", "ports": ["http 80"]},
        {"EndpointSlice": f"demo/{name}-1", "service": name, "ports": ["http 8080"], "ready": ["10.1.0.1"]},
        {"ServiceExport": f"demo/{name}"},
    ]


async def _state(world: World, attack: Attack) -> State:
    """Everything in the honest clusters but what the attacker may bring about."""
    own = {derived_service_name(ServiceKey("demo", name)) for name in attack.brings} - {TAKEN} | attack.brings
    state = {}
    for cluster in HONEST:
        for resource in (NAMESPACES, SERVICES, ENDPOINT_SLICES, SERVICE_IMPORTS):
            for each in await world.apis[cluster].list(resource):
                metadata = each["metadata"]
                is_mirror_of_evil = metadata.get("labels", {}).get(SOURCE) == "evil"
                if metadata["name"] not in own and not (
                    is_mirror_of_evil and metadata.get("namespace") == "demo"
                ):
                    key = f"{cluster} {resource} {metadata.get('namespace', '')}/{metadata['name']}"
                    state[key] = f"{metadata['uid']} {metadata['resourceVersion']}"
    return state


async def _attacked(attack: Attack, folder: Path) -> tuple[State, State, list[str], World]:
    async with running_world(HONEST, folder) as world:
        await _prepare(world)
        await world.start_controller(HONEST)
        await asyncio.sleep(20)
        await world.stop_controller()
        before = await _state(world, attack)
        api = HostileApi(attack.sends, attack.lines)
        api.endless, api.bodies = set(attack.endless), attack.bodies
        async with registered(api, folder / "kubeconfig"):
            await world.start_controller((*HONEST, "evil"))
            await asyncio.sleep(60)
            after = await _state(world, attack)
            for short in _web("later"):
                await world.apis["east"].apply(*expanded(short))
            await asyncio.sleep(10)
            imports = [each["metadata"]["name"] for each in await world.apis["west"].list(SERVICE_IMPORTS)]
            assert await world.ask("west", "later.demo.svc", "A") not in ("NXDOMAIN", "NODATA")
            assert world.controller is not None
            assert all(member.counts.bugs == 0 for member in world.controller.fleet.members.values())
            quiet = world.writes()
            await asyncio.sleep(120)
            assert {name: world.writes()[name] for name in HONEST} == {name: quiet[name] for name in HONEST}
            await world.stop_controller()
        return before, after, sorted(imports), world


@pytest.mark.parametrize("case", ATTACKS)
def test_the_others_keep_what_is_theirs_and_go_on(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kube_client, "MAX_LIST", 2**20 if ATTACKS[case].endless else 2**23)
    attack = ATTACKS[case]
    before, after, imports, _ = run_virtual(_attacked(attack, tmp_path))

    assert after == before
    assert imports == sorted({"web", "later"} | attack.brings)


async def _flooded(folder: Path) -> tuple[list[str], dict[str, int], int]:
    """The imports of west while evil exports 300 services, what it may not, and what the flood costs the others."""
    flood = _merged(*(exported(f"flood-{number:03}", "10.6.0.1", "10.6.0.2") for number in range(300)))
    policy = Policy(members={ClusterId("evil"): MemberPolicy(caps=Caps(exports=50, endpoints=40))})
    async with running_world(HONEST, folder) as world:
        await _prepare(world)
        api = HostileApi(flood)
        api.lies = False
        async with registered(api, folder / "kubeconfig"):
            await world.start_controller((*HONEST, "evil"), policy=policy)
            await asyncio.sleep(60)
            for short in _web("later"):
                await world.apis["east"].apply(*expanded(short))
            await asyncio.sleep(5)
            imports = [each["metadata"]["name"] for each in await world.apis["west"].list(SERVICE_IMPORTS)]
            assert world.controller is not None
            counts = dict(world.controller.services.refusals.counts(ClusterId("evil")))
            succeeded = world.controller.fleet.members[ClusterId("west")].counts.succeeded
            await world.stop_controller()
        return sorted(imports), counts, succeeded


def test_f4_a_flood_beyond_the_caps_costs_the_others_what_is_within_them(tmp_path: Path) -> None:
    imports, counts, succeeded = run_virtual(_flooded(tmp_path))

    assert imports == sorted({"later", "web", *(f"flood-{number:03}" for number in range(20))})
    assert sum(counts.values()) == 280
    assert counts.keys() == {"TooManyEndpoints", "TooManyExports"}
    # A first complete picture is worked on everywhere once, and what is within the caps a few times more.
    assert succeeded < 300 + 20 * 6
