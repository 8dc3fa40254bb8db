"""What a process of ours holds: its tasks, its sockets and its memory, as itself and the kernel tell."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

from msgspec import Struct

from tests.real.chaos.cast import Program


class Measure(Struct, frozen=True):
    """`tasks` counts by name, `resident` is in bytes."""

    tasks: tuple[tuple[str, int], ...]
    sockets: int
    resident: int


async def measure(program: Program) -> Measure:
    """What the process holds now."""
    pid = program.process.pid
    assert pid is not None, f"{program.name} is not running"
    tasks = Counter(await program.tasks())
    return Measure(tuple(sorted(tasks.items())), sockets(pid), resident(pid))


def sockets(pid: int) -> int:
    """How many sockets a process has open."""
    return sum(_is_socket(each) for each in Path(f"/proc/{pid}/fd").iterdir())


def resident(pid: int) -> int:
    """Bytes of memory that a process has in use (RSS)."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def growth(samples: list[tuple[float, int]], after: float) -> float | None:
    """By which part of itself memory grew from the first sample after so many seconds to the last; None before that."""
    late = [size for seconds, size in samples if seconds >= after]
    return late[-1] / late[0] - 1 if len(late) > 1 else None


def _is_socket(descriptor: Path) -> bool:
    try:
        return os.readlink(descriptor).startswith("socket:")  # noqa: PTH115 (a socket is no path)
    except FileNotFoundError:
        return False
