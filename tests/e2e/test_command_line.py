"""The `mcs` command as a user runs it: in a process of its own, with everything that can be wrong around it."""

from __future__ import annotations

import asyncio
import json
import re
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import aiohttp
import pytest
import yaml

from mcs import __version__
from mcs.cli import processes, status
from mcs.cli.main import main
from mcs.sandbox.http.server import ApiServer, kubeconfig
from tests.scenarios.api import Api
from tests.scenarios.objects import expanded
from tests.scenarios.world import CRDS, CUSTOM_RESOURCE_DEFINITIONS

MCS = (sys.executable, "-m", "mcs")
GUARD = 30
"""Seconds after which a process that does not end is a failure."""


class Done(NamedTuple):
    """What came of a process."""

    status: int
    out: str
    errors: str


def _environment(home: Path) -> dict[str, str]:
    return {"HOME": str(home), "PATH": "/usr/bin:/bin"}


async def _mcs(home: Path, *arguments: str, interrupt: asyncio.Event | None = None) -> Done:
    """`mcs ARGUMENTS`, run to its end; SIGINT is sent when `interrupt` is set."""
    process = await asyncio.create_subprocess_exec(
        *MCS,
        *arguments,
        env=_environment(home),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        if interrupt is not None:
            await asyncio.wait_for(interrupt.wait(), GUARD)
            process.send_signal(signal.SIGINT)
        out, errors = await asyncio.wait_for(process.communicate(), GUARD)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode is not None
    return Done(process.returncode, out.decode(), errors.decode())


def _config(folder: Path, servers: Sequence[ApiServer]) -> Path:
    path = folder / "kubeconfig"
    path.write_text(kubeconfig(list(servers)))
    return path


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


# Help and version.


@pytest.mark.parametrize(
    "command", [MCS, (str(Path(sys.executable).parent / "mcs"),)], ids=["python -m", "script"]
)
def test_both_ways_to_start_it_work(command: tuple[str, ...]) -> None:
    done = subprocess.run([*command, "version"], capture_output=True, text=True, timeout=GUARD, check=True)
    assert (done.stdout, done.stderr) == (f"{__version__}\n", "")


def test_help_loads_nothing_heavy() -> None:
    script = (
        "import sys\n"
        "from mcs.cli.main import main\n"
        "for command in ([], ['controller', '--help'], ['dns', '--help'], ['sandbox', '--help'], ['version']):\n"
        "    sys.argv = ['mcs', *command]\n"
        "    try: main()\n"
        "    except SystemExit as end: assert not end.code\n"
        "print(*sys.modules, file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=GUARD, check=True
    )
    loaded = {name.partition(".")[0] for name in done.stderr.split()}
    assert "typer" in loaded
    assert not loaded & {
        "kubernetes_asyncio",
        "aiohttp",
        "rich",
        "dnslib",
        "prometheus_client",
        "yaml",
        "uvloop",
    }


# Mistakes of configuration.


EAST = ("--cluster", "east")
ANY = ("--metrics-listen", "127.0.0.1:0")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("controller", *EAST, "--cluster", "south"), "context 'south': there is no such context in"),
        (("dns", "--context", "south"), "(there are: east)"),
        (("status", "--cluster", "south"), "context 'south': there is no such context in"),
        (("dns", "--kubeconfig", "/nosuch"), "file /nosuch: does not exist; check the path"),
        (
            ("controller", *EAST, "--metrics-listen", "TAKEN"),
            "cannot listen on TAKEN: Address already in use; choose another address or port with --metrics-listen",
        ),
        (
            ("controller", *EAST, *ANY, "--dns-listen", "TAKEN", "--dns-cluster", "east"),
            "cannot listen on TAKEN: Address already in use; choose another address or port with --dns-listen",
        ),
        (("dns", *ANY, "--listen", "TAKEN"), "choose another address or port with --listen"),
        (("dns", *ANY, "--listen", "192.0.2.1:53"), "cannot listen on 192.0.2.1:53: Cannot assign requested"),
        (("dns", "--metrics-listen", "[2001:db8::1]:80"), "cannot listen on [2001:db8::1]:80: "),
    ],
)
def test_a_configuration_that_cannot_work_is_one_line_and_status_1(
    arguments: tuple[str, ...],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    # Logs are set up for a whole process, which here is that of the tests.
    for module in (processes, status):
        monkeypatch.setattr(module, "set_up_logs", lambda *_, **__: None)
    monkeypatch.setenv("KUBECONFIG", str(_config(tmp_path, [ApiServer("east", port=1)])))
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        monkeypatch.setattr(sys, "argv", ["mcs", *(each.replace("TAKEN", address) for each in arguments)])
        with pytest.raises(SystemExit) as end:
            main()
    errors = capsys.readouterr().err
    assert end.value.code == 1
    assert errors.startswith("mcs: ")
    assert errors.count("\n") == 1
    assert said.replace("TAKEN", address) in errors


async def test_without_a_kubeconfig_it_says_where_one_is_looked_for(tmp_path: Path) -> None:
    said = "mcs: there is no kubeconfig: name one, set KUBECONFIG or create ~/.kube/config\n"
    assert await _mcs(tmp_path, "dns") == Done(1, "", said)


# mcs status.


@asynccontextmanager
async def _servers(*names: str) -> AsyncIterator[dict[str, ApiServer]]:
    servers = {name: ApiServer(name) for name in names}
    for server in servers.values():
        await server.start()
    try:
        yield servers
    finally:
        for server in servers.values():
            await server.stop()


async def _install(server: ApiServer) -> Api:
    api = Api(server.url, server.token, server.client_tls())
    for file in sorted(CRDS.glob("*.yaml")):
        await api.apply(CUSTOM_RESOURCE_DEFINITIONS, yaml.safe_load(file.read_text()))
    return api


async def test_status_shows_what_it_can_and_says_what_to_do_about_the_rest(tmp_path: Path) -> None:
    async with _servers("good", "bare", "locked", "gone") as servers:
        api = await _install(servers["good"])
        config = _config(tmp_path, list(servers.values()))
        text = config.read_text()
        config.write_text(text.replace(servers["locked"].token, "wrong"))
        for short in (
            {"Namespace": "shop"},
            {"Service": "shop/web", "ports": ["80"]},
            {"ServiceExport": "shop/web"},
        ):
            await api.apply(*expanded(short))
        await servers["gone"].stop()
        clusters = [part for name in servers for part in ("--cluster", name)]
        done = await _mcs(tmp_path, "status", "--kubeconfig", str(config), *clusters)
        alone = await _mcs(tmp_path, "status", "--kubeconfig", str(config), "--cluster", "good")

    assert alone.status == 0
    assert alone.errors == ""
    assert done.status == 1
    assert "\x1b" not in done.out
    rows = [line.split() for line in done.out.splitlines()]
    version = rows[2][1]
    assert version.startswith("v1.")
    assert ["good", version, "1", "0", "reachable"] in rows
    assert ["bare", version, "-", "-", "CRDs", "missing"] in rows
    assert ["locked", "-", "-", "-", "not", "authorized"] in rows
    assert ["gone", "-", "-", "-", "unreachable"] in rows
    assert ["shop/web", "good", "-", "-", "-"] in rows
    bare, locked, gone = done.errors.splitlines()
    assert bare == "mcs: bare: its CRDs are missing; run: kubectl --context bare apply -f crds/"
    assert locked.startswith("mcs: locked: it does not accept the credentials of context 'locked'")
    assert "wrong" not in locked
    assert gone.startswith("mcs: gone: network: ")
    assert gone.endswith("; check that its API server runs, and the server of context 'gone'")


# Signals.


@asynccontextmanager
async def _silent_server() -> AsyncIterator[int]:
    """A port that takes connections and never says anything."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        yield silent.getsockname()[1]


async def _until_answered(url: str, process: asyncio.subprocess.Process) -> str:
    async with aiohttp.ClientSession() as session, asyncio.timeout(GUARD):
        while True:
            assert process.returncode is None
            try:
                async with session.get(url) as response:
                    return await response.text()
            except aiohttp.ClientConnectionError:
                await asyncio.sleep(0.05)


async def _ended_by(
    number: signal.Signals, folder: Path, command: str, *arguments: str
) -> list[dict[str, Any]]:
    """What the process logged, after it served, got the signal, and ended with status 0."""
    log = folder / f"{command}.log"
    address = f"127.0.0.1:{_free_port()}"
    with log.open("w") as errors:
        process = await asyncio.create_subprocess_exec(
            *MCS,
            command,
            *arguments,
            "--log-json",
            "--metrics-listen",
            address,
            env=_environment(folder),
            stdout=errors,
            stderr=errors,
        )
        try:
            assert await _until_answered(f"http://{address}/healthz", process) == "ok\n"
            process.send_signal(number)
            await asyncio.wait_for(process.wait(), GUARD)
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
    assert process.returncode == 0, log.read_text()
    return [json.loads(line) for line in log.read_text().splitlines()]


async def test_a_signal_ends_controller_and_dns_in_order(tmp_path: Path) -> None:
    async with _servers("east") as servers, _silent_server() as port:
        await _install(servers["east"])
        config = str(_config(tmp_path, [servers["east"], ApiServer("silent", port=port)]))
        silent = ("--kubeconfig", config, "--context", "silent", "--listen", f"127.0.0.1:{_free_port()}")
        both = ("--kubeconfig", config, "--cluster", "east", "--cluster", "silent")
        answering = ("--dns-listen", f"127.0.0.1:{_free_port()}", "--dns-cluster", "east")
        logs = await asyncio.gather(
            _ended_by(signal.SIGTERM, tmp_path, "controller", *both, *answering),
            _ended_by(signal.SIGINT, tmp_path, "dns", *silent),
        )

    for log in logs:
        events = [entry["event"] for entry in log]
        assert events.index("started") < events.index("stopped") == len(events) - 1
        assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT.*Z", entry["timestamp"]) for entry in log)
        assert not [entry for entry in log if "exception" in entry]


async def test_status_can_be_interrupted(tmp_path: Path) -> None:
    asked = asyncio.Event()

    async def say_nothing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.set()
        await reader.read()
        writer.close()

    async with await asyncio.start_server(say_nothing, "127.0.0.1", 0) as server:
        config = _config(tmp_path, [ApiServer("silent", port=server.sockets[0].getsockname()[1])])
        status = ("status", "--kubeconfig", str(config), "--cluster", "silent")
        assert await _mcs(tmp_path, *status, interrupt=asked) == Done(130, "", "")
