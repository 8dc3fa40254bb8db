"""`mcs dns` against CoreDNS `multicluster` on the same objects of a real API server, except for the listed differences.

The objects and the questions are random: MCS_SEED repeats them, MCS_ZONES makes more zones one after the other. What is
listed but did not occur is printed; in twenty zones most of it occurs, and what never does should leave the list.
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random

import pytest

from tests.lab.binaries import built
from tests.lab.control_planes import ControlPlane, ControlPlanes, free_ports
from tests.lab.kubectl import Kubectl
from tests.lab.mcs import eventually, running
from tests.lab.processes import LabProcess
from tests.real.random_zone import MARKER_ADDRESS, ORIGIN, World, questions, random_world
from tests.real.two_servers import (
    Client,
    Difference,
    Known,
    Parts,
    Question,
    differences,
    known_differences,
    parts_of,
)

SEED = int(os.environ.get("MCS_SEED") or secrets.randbelow(2**32))
ZONES = int(os.environ.get("MCS_ZONES") or 1)
SERVICES = 10

LISTED = known_differences(Path(__file__).with_name("coredns_differences.yaml"))

COREFILE = """
.:{port} {{
    bind 127.0.0.1
    errors
    kubernetes cluster.local {origin} {{
        kubeconfig {kubeconfig} {cluster}
        multicluster {origin}
        ttl 5
    }}
}}
"""


@dataclass(frozen=True)
class Answered:
    """A question and both responses to it, taken apart."""

    question: Question
    coredns: Parts
    ours: Parts


@pytest.mark.timeout(60 + 120 * ZONES)
async def test_every_answer_is_that_of_coredns_except_for_the_listed_differences(
    planes: ControlPlanes, installed_crds: None, kubectl_for: Callable[[str], Kubectl], tmp_path: Path
) -> None:
    print(f"MCS_SEED={SEED} MCS_ZONES={ZONES}")
    async with both_servers(planes["east"], tmp_path) as (coredns, ours):
        answered: list[Answered] = []
        for number in range(ZONES):
            chance = Random(SEED + number)
            world = random_world(chance, f"zone-{secrets.token_hex(3)}", SERVICES)
            await create(world, kubectl_for("east"))
            for server in (coredns, ours):
                await eventually("the last service is known", partial(knows, server, world))
            asked = list(questions(world, chance))
            responses = zip(asked, await coredns.ask(asked), await ours.ask(asked), strict=True)
            answered += [Answered(each, parts_of(theirs), parts_of(own)) for each, theirs, own in responses]
    unlisted, unseen = judged(answered)
    print(f"{len(answered)} questions; listed but not seen: {[known.what for known in unseen]}")
    assert not unlisted, f"MCS_SEED={SEED}: {len(unlisted)} differences:\n" + "\n".join(
        map(str, unlisted[:40])
    )
    faults_are_seen(answered)


def judged(answered: Iterable[Answered]) -> tuple[list[Difference], list[Known]]:
    """The differences that are not listed, and what is listed but did not occur."""
    unlisted = []
    seen: set[str] = set()
    for each in answered:
        for difference in differences(each.question, each.coredns, each.ours):
            covering = [known for known in LISTED if known.covers(difference)]
            seen.update(known.what for known in covering)
            if not covering:
                unlisted.append(difference)
    return unlisted, [known for known in LISTED if known.what not in seen]


def faults_are_seen(answered: Sequence[Answered]) -> None:
    """Spoil responses of ours that were right; each fault has to be a difference that is not listed."""
    right = [
        each
        for each in answered
        if each.question.type in ("A", "AAAA", "SRV")
        and each.question.transport != "dnssec"
        and not each.question.traits & {"some ready ones strange", "all ready ones strange"}
        and each.coredns == each.ours
        and each.ours.get("answer")
    ]
    assert right, f"MCS_SEED={SEED}: no service was answered alike"
    for each in right:
        first, *others = sorted(each.ours["answer"])
        for spoilt in (
            {"answer": frozenset(others)},
            {"answer": frozenset({first.replace(" 5 ", " 6 "), *others})},
            # No digit less: the address of another endpoint may begin with this one.
            {"answer": frozenset({first, f"{first}999", *others})},
            {"flags": each.ours["flags"] - {"AA"}},
            {"flags": each.ours["flags"] | {"RA"}},
            {"rcode": frozenset({"NXDOMAIN"})},
            {"authority": frozenset({"an SOA"})},
        ):
            unlisted, _ = judged([Answered(each.question, each.coredns, each.ours | spoilt)])
            assert unlisted, f"MCS_SEED={SEED}: not seen at {each.question}: {spoilt}"


async def create(world: World, kubectl: Kubectl) -> None:
    """Create the world's objects, those that are last in it last."""
    namespaces = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}} for name in world.namespaces
    ]
    items = [*namespaces, *world.imports, *world.slices]
    await kubectl("create", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))


async def knows(server: Client, world: World) -> bool:
    """Whether the server answers the service that was created last."""
    (response,) = await server.ask([world.last])
    return any(MARKER_ADDRESS in line for line in parts_of(response).get("answer", ()))


@asynccontextmanager
async def both_servers(plane: ControlPlane, folder: Path) -> AsyncIterator[tuple[Client, Client]]:
    """CoreDNS and `mcs dns` for the cluster, until the block ends."""
    kubeconfig = plane.kubeconfig()
    coredns_port, port, metrics_port = free_ports(3)
    corefile = folder / "Corefile"
    corefile.write_text(
        COREFILE.format(port=coredns_port, origin=ORIGIN, kubeconfig=kubeconfig, cluster=plane.name)
    )
    coredns = LabProcess("coredns", (str(built("coredns")), "-conf", str(corefile)), folder / "coredns.log")
    dns = ("--kubeconfig", str(kubeconfig), "--listen", f"127.0.0.1:{port}")
    await coredns.start()
    try:
        async with running(
            "dns", "dns", *dns, "--metrics-listen", f"127.0.0.1:{metrics_port}", folder=folder
        ):
            yield Client(coredns_port), Client(port)
    finally:
        await coredns.stop()
