"""One chaos run from beginning to end: rest, storm, rest; what was seen of it is a value that a test judges.

Before the storm one member starts without CRDs, and the others are served meanwhile.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections import Counter
from collections.abc import Iterable, Sequence

import msgspec
from msgspec import Struct

from mcs.kube.errors import KubeError
from tests.lab.mcs import eventually
from tests.real.chaos import churn
from tests.real.chaos.api import AdminApi
from tests.real.chaos.cast import Cast
from tests.real.chaos.churn import CONSTANT, NAMESPACE, NEWCOMER, SERVICES_OF_A_STORM, Removal, Step
from tests.real.chaos.fresh import differences
from tests.real.chaos.judge import Answer, Promise, Wrong, judge
from tests.real.chaos.measures import Measure, measure, resident
from tests.real.chaos.observer import ask
from tests.real.chaos.schedule import Fault, schedule
from tests.real.chaos.storm import Storm

_BETWEEN_STEPS = 0.25
"""Seconds from one change of a user to his next, in each cluster."""

_SAMPLE_EVERY = 5.0
_TO_REST = 90.0
"""Seconds after the storm in which everything must be as a fresh computation says."""

Samples = dict[str, list[tuple[float, int]]]


class Seen(Struct):
    """All that came of a run. `left` is what differs from a fresh computation; `samples` are seconds and bytes."""

    seed: str
    seconds: float
    schedule: Sequence[Fault] = ()
    happened: Counter[str] = msgspec.field(default_factory=Counter)
    changes: int = 0
    answers: list[Answer] = []
    wrong: list[Wrong] = []
    left: list[str] = []
    to_rest: float = 0.0
    before: dict[str, Measure] = {}
    after: dict[str, Measure] = {}
    samples: Samples = {}
    survivors: frozenset[str] = frozenset()


async def play(cast: Cast, seen: Seen) -> None:
    """Run it; `seen` is filled on the way, so that a run that fails has said what it saw."""
    users = _Users(cast, seen)
    await _begin(cast, users)
    await eventually("our programs are at rest", lambda: _are_at_rest(cast, seen), every=0.5)
    storm = Storm(cast)
    seen.survivors = frozenset(cast.programs) - storm.killed
    seen.schedule = schedule(seen.seed, seen.seconds, storm.victims())
    promises_of = await _promises(cast)
    await cast.observer.start()
    began = time.monotonic()
    try:
        async with asyncio.TaskGroup() as meanwhile:
            work = [
                meanwhile.create_task(users.churn(cluster), name=f"users of {cluster}")
                for cluster in churn.CLUSTERS
            ]
            work.append(meanwhile.create_task(_sample(cast, seen, began), name="memory"))
            await storm.run(seen.schedule)
            await asyncio.sleep(began + seen.seconds - time.monotonic())
            for task in work:
                task.cancel()
        await _rest(cast, seen)
    finally:
        ended = time.monotonic()
        await cast.observer.stop()
        seen.happened = Counter(each.kind for each in storm.happened)
        seen.answers = msgspec.json.Decoder(Answer).decode_lines(cast.record.read_bytes())
        promises = [msgspec.structs.replace(each, begin=began, end=ended) for each in promises_of]
        seen.wrong = judge(seen.answers, promises, storm.outages, storm.hindrances())
    for name, samples in seen.samples.items():
        samples.append((time.monotonic() - began, seen.after[name].resident))


async def _begin(cast: Cast, users: _Users) -> None:
    for cluster in CONSTANT:
        await cast.apis[cluster].install_crds()
        await users.do(cast.apis[cluster], churn.first_steps(cluster))
    await cast.register()
    await cast.wait_until_ready()
    steady = next(each for each in SERVICES_OF_A_STORM if each.name == "of-all")
    for name, port in cast.dns_ports.items():

        async def answers(port: int = port) -> bool:
            return set((await ask(port, steady.domain))[1]) == steady.always

        await eventually(f"{name} answers while {NEWCOMER} has no CRDs", answers)
    await cast.apis[NEWCOMER].install_crds()
    await users.do(cast.apis[NEWCOMER], churn.first_steps(NEWCOMER))
    await eventually("all is imported everywhere", lambda: _is_fresh(cast), every=0.5)
    # Begun anew they hold no connection of the work that is done.
    for program in cast.programs.values():
        await program.restart()
    await eventually("all members are seen", lambda: _are_all_seen(cast), every=0.2)


async def _is_fresh(cast: Cast) -> bool:
    return not await differences(list(cast.planes))


async def _are_all_seen(cast: Cast) -> bool:
    """Whether every watch of our programs is open."""
    texts = [await program.metrics() for program in cast.programs.values()]
    states = [
        re.findall(r'^mcs_watch_state\{.*state="watching"\} (\S+)', text, re.MULTILINE) for text in texts
    ]
    return all(found and set(found) == {"1.0"} for found in states)


async def _are_at_rest(cast: Cast, seen: Seen) -> bool:
    """Whether they hold what they held the last time; our own questions to them end a moment later than we know."""
    last, seen.before = seen.before, {name: await measure(each) for name, each in cast.programs.items()}
    return bool(last) and all(_is_as_before(last[name], now) for name, now in seen.before.items())


async def _rest(cast: Cast, seen: Seen) -> None:
    """Wait until everything is as a fresh computation says, and our programs hold what they held before."""
    began = time.monotonic()
    while time.monotonic() - began < _TO_REST:
        try:
            seen.left = await differences(list(cast.planes))
        except KubeError as error:
            seen.left = [str(error)]
        seen.to_rest = time.monotonic() - began
        if not seen.left:
            break
        await asyncio.sleep(0.5)
    await cast.observer.stop()
    while time.monotonic() - began < _TO_REST:
        seen.after = {name: await measure(program) for name, program in cast.programs.items()}
        if all(_is_as_before(seen.before[name], now) for name, now in seen.after.items()):
            break
        await asyncio.sleep(1)


def _is_as_before(before: Measure, after: Measure) -> bool:
    return (before.tasks, before.sockets) == (after.tasks, after.sockets)


async def _promises(cast: Cast) -> list[Promise]:
    """What DNS of each cluster has to answer from now on."""
    found = []
    for cluster, dns in cast.dns.items():
        for service in SERVICES_OF_A_STORM:
            always, ever = service.always, service.ever
            if not service.headless:
                always = ever = frozenset(
                    await cast.apis[cluster].addresses_of_import(NAMESPACE, service.name)
                )
            found.append(Promise(dns.name, service.domain, 0, 0, always, ever, service.is_fleeting))
    return found


async def _sample(cast: Cast, seen: Seen, began: float) -> None:
    """Write down the memory of the programs that nobody kills, again and again."""
    while True:
        for name in seen.survivors:
            pid = cast.programs[name].process.pid
            if pid is not None:
                seen.samples.setdefault(name, []).append((time.monotonic() - began, resident(pid)))
        await asyncio.sleep(_SAMPLE_EVERY)


class _Users:
    """The users of all clusters, who notice nothing of a storm but that their API server is away at times."""

    def __init__(self, cast: Cast, seen: Seen) -> None:
        self._cast = cast
        self._seen = seen

    async def churn(self, cluster: str) -> None:
        """Change services of a cluster until cancelled."""
        for step in churn.churn(self._seen.seed, cluster):
            await self.do(self._cast.apis[cluster], (step,))
            self._seen.changes += 1
            await asyncio.sleep(_BETWEEN_STEPS)

    async def do(self, api: AdminApi, steps: Iterable[Step]) -> None:
        """Carry out steps one after the other."""
        for step in steps:
            if isinstance(step, Removal):
                await api.delete(step.resource, NAMESPACE, step.name)
            else:
                await api.apply(dict(step))
