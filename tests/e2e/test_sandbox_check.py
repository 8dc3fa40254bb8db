"""`mcs sandbox --check` finds what is wrong, and a start that hangs ends with a message: with faults planted."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Mapping
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from rich.console import Console

from mcs.cli import sandbox as command
from mcs.cli.problems import UserMistakeError
from mcs.controllers.services import ServicesController
from mcs.model.names import ClusterId, ServiceKey
from mcs.sandbox.api import Api
from mcs.sandbox.demo import clusterset, running
from mcs.sandbox.demo.asking import TRANSPORTS, Transport, ask
from mcs.sandbox.demo.expectations import Answer, Expected
from mcs.sandbox.demo.picture import Steps
from mcs.sandbox.demo.running import Demo, SandboxError, run_demo, running_demo
from mcs.sandbox.workloads.pods import Pace
from mcs.sandbox.workloads.simulator import Simulator
from mcs.testing.virtual_time import run_virtual
from mcs_dns.server import DnsServer
from mcs_dns.zone import ImportedService, Zone

EAST, WEST = ClusterId("east"), ClusterId("west")
WEB, DB = ServiceKey("shop", "web"), ServiceKey("shop", "db")


class Ready:
    """A sandbox that answers, and what it should answer."""

    def __init__(self, running: Demo, expected: list[Expected]) -> None:
        self.demo = running
        self.expected = expected

    def server(self, cluster: ClusterId) -> DnsServer:
        server = self.demo.dns[cluster].dns
        assert isinstance(server, DnsServer)
        return server

    async def wrong(self) -> list[str]:
        return [line async for line in self.demo.wrong_answers(self.expected, TRANSPORTS)]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def ready(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Ready]:
    """A sandbox whose answers are all right."""
    steps = Steps(Console(file=StringIO()))
    async with running_demo(tmp_path_factory.mktemp("demo"), steps) as demo:
        while True:
            try:
                found = Ready(demo, await demo.expected())
                if not await found.wrong():
                    break
            except SandboxError:
                pass
            await asyncio.sleep(0.05)
        yield found


def without(key: ServiceKey, zone: Zone) -> Zone:
    return zone.with_services({key: None})


@pytest.mark.asyncio(loop_scope="module")
async def test_every_kind_of_record_is_compared(ready: Ready) -> None:
    asked = {(each.question.cluster, each.question.kind) for each in ready.expected}
    assert asked == {
        (cluster, kind) for cluster in ("east", "west", "south") for kind in ("A", "AAAA", "SRV", "TXT")
    }
    assert await ready.wrong() == []


@pytest.mark.asyncio(loop_scope="module")
async def test_a_server_that_answers_from_the_zone_of_another_cluster_is_found(ready: Ready) -> None:
    west = ready.server(WEST)
    right, west.zone = west.zone, ready.server(EAST).zone
    wrong = await ready.wrong()
    west.zone = right
    assert {line.split()[0] for line in wrong} == {"west"}
    (line,) = (line for line in wrong if " web.shop.svc.clusterset.local. A over UDP" in line)
    assert re.fullmatch(r"west \S+ A over UDP: \['10\.96\.\S+'\], not \['10\.97\.\S+'\]", line)


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("key", [WEB, DB], ids=str)
async def test_a_missing_service_is_found_over_both_transports(ready: Ready, key: ServiceKey) -> None:
    east = ready.server(EAST)
    right, east.zone = east.zone, without(key, east.zone)
    wrong = await ready.wrong()
    east.zone = right
    name = f"{key.name}.{key.namespace}.svc.clusterset.local."
    assert wrong
    assert all(name in line and "NXDOMAIN, not [" in line for line in wrong)
    assert {transport for line in wrong for transport in TRANSPORTS if f"over {transport}:" in line} == {
        "UDP",
        "TCP",
    }


@pytest.mark.asyncio(loop_scope="module")
async def test_an_answer_to_what_was_refused_is_found(ready: Ready) -> None:
    west = ready.server(WEST)
    payments = ServiceKey("shop", "payments")
    right, west.zone = west.zone, west.zone.with_services({payments: west.zone.services[WEB]})
    wrong = await ready.wrong()
    west.zone = right
    assert [line.split(":")[0] for line in wrong] == [
        f"west payments.shop.svc.clusterset.local. A over {transport}" for transport in TRANSPORTS
    ]
    assert all(line.endswith("not NXDOMAIN") for line in wrong)


async def run_check(**options: Any) -> tuple[bool, str]:
    printed = StringIO()
    right = await run_demo(Console(file=printed), check=True, **options)
    return right, printed.getvalue()


async def test_a_check_of_right_answers_passes_and_says_how_long_each_step_took() -> None:
    right, printed = await run_check()
    assert right
    assert re.findall(r"^ *\d+\.\d\d s  (.*)$", printed, re.MULTILINE) == [
        "API servers started, sample applied",
        "controller and DNS servers started",
        "every exported name answered",
        "77 answers compared over UDP and TCP",
    ]
    assert printed.endswith("check passed\n")


async def test_a_check_of_wrong_answers_fails_and_names_each(monkeypatch: pytest.MonkeyPatch) -> None:
    async def lame(port: int, name: str, kind: str, transport: Transport) -> Answer:
        right = await ask(port, name, kind, transport)
        return "SERVFAIL" if transport == "TCP" and name.startswith("db.shop.") and kind == "A" else right

    monkeypatch.setattr(running, "ask", lame)
    right, printed = await run_check()
    assert not right
    wrong = [line for line in printed.splitlines() if line.startswith("wrong: ")]
    assert len(wrong) == 3
    for line, cluster in zip(wrong, ("east", "west", "south"), strict=True):
        assert line.startswith(
            f"wrong: {cluster} db.shop.svc.clusterset.local. A over TCP: SERVFAIL, not ['10.244."
        )
    assert printed.endswith("check failed\n")


async def never(*_: object, **__: object) -> Any:
    await asyncio.Event().wait()


async def nothing(*_: object) -> None:
    pass


def stop_the_first_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clusterset, "apply_objects", never)


def start_no_pods(monkeypatch: pytest.MonkeyPatch) -> None:
    def slow(api: Api, **options: Any) -> Simulator:
        return Simulator(api, **{**options, "pace": Pace(start=3600)})

    monkeypatch.setattr(clusterset, "Simulator", slow)


def import_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ServicesController, "reconcile", nothing)


def lose_a_service(monkeypatch: pytest.MonkeyPatch) -> None:
    right = Zone.with_services

    def lossy(zone: Zone, changes: Mapping[ServiceKey, ImportedService | None]) -> Zone:
        return right(zone, {key: changes[key] for key in changes if key != WEB})

    monkeypatch.setattr(Zone, "with_services", lossy)


def answer_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "ask", never)


FAULTS: dict[Callable[[pytest.MonkeyPatch], None], str] = {
    stop_the_first_server: "API servers started, sample applied",
    start_no_pods: r"east: Deployment \S+ is not ready",
    import_nothing: "east has not imported infra/gateway, infra/resolver, shop/db, shop/payments, shop/web",
    lose_a_service: r"east web\.shop\.svc\.clusterset\.local\. A over UDP: NXDOMAIN, not \['10\.96\.\S+'\]",
    answer_nothing: "an answer from the DNS servers",
}


@pytest.mark.parametrize("plant", FAULTS, ids=lambda plant: plant.__name__)
def test_a_start_that_hangs_ends_with_what_is_missing_and_leaves_nothing(
    plant: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    plant(monkeypatch)
    with pytest.raises(SandboxError) as caught:
        run_virtual(run_check(patience=6))
    late = "the sandbox did not come to answer in 6 s; the last that was missing: "
    assert re.fullmatch(f"{late}({FAULTS[plant]})", str(caught.value))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("right", "status"), [(True, None), (False, 1)])
def test_the_exit_status_of_a_check(right: bool, status: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    async def ended(*_: object, **__: object) -> bool:
        return right

    monkeypatch.setattr(command, "run_demo", ended)
    monkeypatch.setattr(command, "set_up_logs", lambda *_, **__: None)
    if status is None:
        command.run_sandbox(check=True, log_level="warning")
    else:
        with pytest.raises(SystemExit) as caught:
            command.run_sandbox(check=True, log_level="warning")
        assert caught.value.code == status


def test_a_sandbox_that_does_not_come_to_answer_is_told_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    async def late(*_: object, **__: object) -> bool:
        raise SandboxError("it did not come to answer")

    monkeypatch.setattr(command, "run_demo", late)
    monkeypatch.setattr(command, "set_up_logs", lambda *_, **__: None)
    with pytest.raises(UserMistakeError, match="it did not come to answer"):
        command.run_sandbox(check=True, log_level="warning")
