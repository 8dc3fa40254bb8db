"""An elector and its Lease: what it says of trouble, that it never gives up, and what it leaves behind."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any, TypeVar

import pytest
from msgspec.structs import replace
from structlog.testing import capture_logs

from mcs.kube.errors import ConfigError, Forbidden, NotFound, NotLeading, ResourceMissing, Unreachable
from mcs.model.leases import Lease, LeaseSpec
from mcs.model.meta import ObjectMeta
from mcs.runtime.leader import LeaderElector, LeasePlace
from mcs.testing.virtual_time import run_virtual

T = TypeVar("T")
PLACE = LeasePlace("system", "mcs-controller")
WALL = datetime(2026, 1, 1, tzinfo=UTC)


class Leases:
    """One Lease; `error` is raised by every request while it is set, and `hangs` keeps them waiting."""

    def __init__(self, lease: Lease | None = None) -> None:
        self.lease = lease
        self.error: Exception | None = None
        self.create_error: Exception | None = None
        self.hangs = False
        self.writes: list[str] = []
        self._version = 0

    async def _asked(self) -> None:
        if self.hangs:
            await asyncio.Event().wait()
        if self.error is not None:
            raise self.error

    async def get(self, resource: Any, namespace: str, name: str) -> Any:
        await self._asked()
        assert (namespace, name) == ("system", "mcs-controller")
        if self.lease is None:
            raise NotFound(404, "NotFound", "no such Lease")
        return self.lease

    async def create(self, resource: Any, obj: Any) -> Any:
        await self._asked()
        if self.create_error is not None:
            raise self.create_error
        assert (obj.metadata.namespace, obj.metadata.name) == ("system", "mcs-controller")
        return self._stored(obj)

    async def patch(self, resource: Any, namespace: str, name: str, changes: dict[str, Any]) -> Any:
        await self._asked()
        assert self.lease is not None
        assert changes["metadata"]["resourceVersion"] == self.lease.metadata.resource_version
        spec = changes["spec"]
        return self._stored(
            replace(
                self.lease,
                spec=LeaseSpec(
                    holder_identity=spec["holderIdentity"],
                    lease_duration_seconds=spec["leaseDurationSeconds"],
                    acquire_time=spec["acquireTime"],
                    renew_time=spec["renewTime"],
                    lease_transitions=spec["leaseTransitions"],
                ),
            )
        )

    def _stored(self, lease: Lease) -> Lease:
        self._version += 1
        self.writes.append(lease.holder)
        self.lease = replace(lease, metadata=replace(lease.metadata, resource_version=str(self._version)))
        return self.lease


def elector(leases: Leases, opening: Callable[[], None] = lambda: None) -> LeaderElector:
    @asynccontextmanager
    async def open_client() -> AsyncIterator[Leases]:
        opening()
        yield leases

    return LeaderElector(open_client, PLACE, "a", lambda: WALL)


def run(coroutine: Coroutine[Any, Any, T]) -> tuple[T, list[Any]]:
    with capture_logs() as logs:
        return run_virtual(coroutine), logs


def of_b() -> Lease:
    return Lease(
        metadata=ObjectMeta(resource_version="70"),
        spec=LeaseSpec(holder_identity="b", lease_duration_seconds=15),
    )


def test_the_first_candidate_leads_at_once_and_gives_the_lease_back_at_its_end() -> None:
    leases = Leases()

    async def life() -> list[str]:
        async with elector(leases) as candidate:
            with pytest.raises(NotLeading):
                candidate.permit()
            await asyncio.sleep(0.1)
            assert candidate.permit() == pytest.approx(13.9, abs=0.1)
            notes = candidate.notes
            await asyncio.sleep(60)
        assert not candidate.is_leading
        with pytest.raises(NotLeading):
            candidate.permit()
        return notes

    notes, logs = run(life())
    assert notes == ["leader: this process"]
    assert leases.writes[0] == "a"
    assert len(leases.writes) == pytest.approx(32, abs=2), "one renewal each two seconds"
    assert leases.writes[-1] == ""
    assert [each["event"] for each in logs] == ["leading", "lease given back"]


def test_who_stands_by_says_who_leads_and_leaves_the_lease_alone() -> None:
    leases = Leases(of_b())

    async def life() -> list[str]:
        async with elector(leases) as candidate:
            await asyncio.sleep(10)
            return candidate.notes

    notes, logs = run(life())
    assert notes == ["leader: b; this process stands by"]
    assert leases.writes == []
    assert [(each["event"], each["holder"]) for each in logs] == [("standing by", "b")]


@pytest.mark.parametrize(
    ("error", "advice"),
    [
        (
            Forbidden(403, "Forbidden", "no"),
            "403 Forbidden: no; allow get and patch of leases.coordination.k8s.io system/mcs-controller, "
            "and create in its namespace",
        ),
        (
            ResourceMissing(404, "", "404 page not found"),
            "404: 404 page not found; the API server serves no leases.coordination.k8s.io/v1",
        ),
        (Unreachable("host: no connection within 5 s"), "host: no connection within 5 s"),
    ],
)
def test_trouble_with_the_lease_is_told_once_with_what_to_do_and_never_the_end(
    error: Exception, advice: str
) -> None:
    leases = Leases()

    async def life() -> tuple[list[str], bool, bool]:
        leases.error = error
        async with elector(leases) as candidate:
            await asyncio.sleep(600)
            told = candidate.notes, candidate.was_answered
            leases.error = None
            await asyncio.sleep(3)
            return *told, candidate.is_leading

    (notes, was_answered, leads), logs = run(life())
    assert notes == ["leader: nobody yet; this process stands by", f"lease: {advice}"]
    assert not was_answered
    assert leads
    assert [each["event"] for each in logs] == [
        "lease cannot be used",
        "lease can be used again",
        "leading",
        "lease given back",
    ]
    assert logs[0]["problem"] == advice


def test_a_namespace_that_is_missing_is_named() -> None:
    leases = Leases()
    leases.create_error = NotFound(404, "NotFound", 'namespaces "system" not found')

    async def life() -> list[str]:
        async with elector(leases) as candidate:
            await asyncio.sleep(10)
            return candidate.notes

    notes, _ = run(life())
    assert notes[1].endswith("; create the namespace system, or name another with --lease-namespace")


def test_a_host_cluster_that_cannot_be_connected_to_is_tried_again() -> None:
    failures = [ConfigError("no such context")] * 3

    def opening() -> None:
        if failures:
            raise failures.pop()

    async def life() -> bool:
        async with elector(Leases(), opening) as candidate:
            await asyncio.sleep(5)
            assert candidate.notes[1:] == ["lease: no such context"]
            await asyncio.sleep(3)
            return candidate.is_leading

    assert run(life())[0]


def test_a_leader_without_its_lease_stops_at_the_deadline_and_leads_again_when_it_can() -> None:
    leases, done = Leases(), list[float]()

    async def life() -> list[bool]:
        now = asyncio.get_running_loop().time

        async def work() -> None:
            candidate.permit()
            done.append(now())
            await asyncio.sleep(1)

        async def work_on() -> None:
            while True:
                await candidate.lead(work)

        found = []
        async with elector(leases) as candidate:
            working = asyncio.create_task(work_on())
            await asyncio.sleep(20)
            leases.hangs, broken = True, now()
            await asyncio.sleep(9.9 - 2)
            found.append(candidate.is_leading)
            await asyncio.sleep(30)
            found.append(candidate.is_leading)
            assert max(done) <= broken + 10
            leases.hangs = False
            await asyncio.sleep(10)
            found.append(candidate.is_leading)
            working.cancel()
            await asyncio.wait([working])
        assert max(done) > broken + 30
        return found

    found, logs = run(life())
    assert found == [True, False, True]
    assert [each["event"] for each in logs] == [
        "leading",
        "lease cannot be used",
        "no longer leading: standing by",
        "lease can be used again",
        "leading",
        "lease given back",
    ]


def test_work_that_loses_its_permit_midway_begins_again_when_it_is_allowed_to() -> None:
    leases = Leases()

    async def life() -> list[str]:
        steps = []

        async def work() -> None:
            steps.append("first")
            candidate.permit()
            if len(steps) == 1:
                leases.lease = replace(of_b(), spec=replace(of_b().spec, lease_duration_seconds=4))
                await asyncio.sleep(5)
            candidate.permit()
            steps.append("second")

        async with elector(leases) as candidate:
            leases.patch = refused_once(leases, leases.patch)  # type: ignore[method-assign]
            await candidate.lead(work)
        return steps

    assert run(life())[0] == ["first", "first", "second"]


def refused_once(leases: Leases, patch: Any) -> Any:
    """The first patch is refused, since the Lease is another's by now."""
    from mcs.kube.errors import Conflict

    refusals = [Conflict(409, "Conflict", "it has changed")]

    async def patched(*arguments: Any) -> Any:
        if refusals:
            raise refusals.pop()
        return await patch(*arguments)

    return patched


def test_the_end_does_not_wait_for_an_api_server_that_does_not_answer() -> None:
    leases = Leases()

    async def life() -> float:
        now = asyncio.get_running_loop().time
        async with elector(leases):
            await asyncio.sleep(5)
            leases.hangs, began = True, now()
        return now() - began

    assert run(life())[0] <= 1.1


def test_a_bug_of_ours_is_told_and_does_not_end_the_election() -> None:
    leases = Leases()
    leases.error = RuntimeError("a bug")

    async def life() -> bool:
        async with elector(leases) as candidate:
            await asyncio.sleep(5)
            assert candidate.notes[1:] == ["lease: RuntimeError: a bug"]
            leases.error = None
            await asyncio.sleep(3)
            return candidate.is_leading

    leads, logs = run(life())
    assert leads
    assert "unexpected failure of the election" in [each["event"] for each in logs]
