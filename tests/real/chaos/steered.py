"""Runs an `mcs` command whose clock can be set from outside, and which tells what its event loop is doing.

A program of its own: its first argument is a port of 127.0.0.1, the others are those of `mcs`. On that port it takes a
line at a time: "clock SECONDS" lets the command's clock be wrong by so much from then on, "tasks" only asks. Either is
answered with the names of all tasks as a line of JSON. The product takes its clock as an argument; here it is given.
"""

from __future__ import annotations

import asyncio
import json
import re
import socketserver
import sys
import threading
from collections.abc import Callable
from contextlib import ExitStack
from datetime import datetime, timedelta
from functools import partial
from typing import Any
from unittest import mock

from mcs.cli import processes
from mcs.cli.main import main as mcs
from mcs.controllers.processes import utc_now

STEERED = ("ControllerProcess", "DnsProcess")


class Steering:
    """The clock of the command, and its loop once it runs."""

    def __init__(self) -> None:
        self._offset = timedelta()
        self._loop: asyncio.AbstractEventLoop | None = None

    def now(self) -> datetime:
        """The time of the wall, wrong by what was asked for."""
        return utc_now() + self._offset

    def steered(self, make: Callable[..., Any]) -> Callable[..., Any]:
        """The same, made with this clock."""

        def made(*arguments: Any, **options: Any) -> Any:
            self._loop = asyncio.get_running_loop()
            return make(*arguments, **options | {"clock": self.now})

        return made

    def obey(self, line: str) -> str:
        """Do what the line says; the answer to it. Raises ValueError for a line that it does not know."""
        word, _, seconds = line.partition(" ")
        if word == "clock":
            self._offset = timedelta(seconds=float(seconds))
        elif word != "tasks":
            raise ValueError(f"neither clock nor tasks: {line}")
        tasks = asyncio.all_tasks(self._loop) if self._loop is not None else ()
        return json.dumps(sorted(map(_name, tasks)))


def _name(task: asyncio.Task[Any]) -> str:
    """What it was called, or what it runs: a library's tasks are only numbered."""
    name = task.get_name()
    return getattr(task.get_coro(), "__qualname__", "unknown") if re.fullmatch(r"Task-\d+", name) else name


class _Handler(socketserver.StreamRequestHandler):
    def __init__(self, steering: Steering, *arguments: Any) -> None:
        self._steering = steering
        super().__init__(*arguments)

    def handle(self) -> None:
        """Answer one line."""
        line = self.rfile.readline().decode().strip()
        self.wfile.write(f"{self._steering.obey(line)}\n".encode())


def main(port: str, *arguments: str) -> None:
    """Run `mcs ARGUMENTS` to its end."""
    steering = Steering()
    server = socketserver.TCPServer(
        ("127.0.0.1", int(port)), partial(_Handler, steering), bind_and_activate=False
    )
    # A process that was killed leaves connections behind that would keep the port for a minute.
    server.allow_reuse_address = True
    server.server_bind()
    server.server_activate()
    threading.Thread(target=server.serve_forever, name="steering", daemon=True).start()
    sys.argv = ["mcs", *arguments]
    with ExitStack() as given:
        for name in STEERED:
            steered = steering.steered(getattr(processes, name))
            given.enter_context(mock.patch.object(processes, name, steered))
        # What takes part in elections is given its clock by name.
        given.enter_context(mock.patch.object(processes, "utc_now", steering.now))
        mcs()


if __name__ == "__main__":
    main(*sys.argv[1:])
