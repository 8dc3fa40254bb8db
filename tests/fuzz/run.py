"""A search for bytes that make `mcs dns` do something else than answer or drop, guided by the code they reach.

`python -m tests.fuzz.run --inputs N --seed S` shares N inputs out among processes, tells how many were tried and how
many a second, and ends with 1 when one broke a rule. That input is then in build/fuzz, and `--replay FILE` judges it
again; those that reached new code are in the folders `reached`. What is worth it is committed to the corpus, as a file
that ends with .bin. Needs atheris: the extra `fuzz` of this project.
"""

from __future__ import annotations

import argparse
import os
import re
import secrets
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import IO

import uvloop

from tests.fuzz.inputs import TARGETS, Target, committed, dictionary, seeds
from tests.fuzz.mutation import mutated_packet, mutated_stream

FOLDER = Path(__file__).parents[2] / "build" / "fuzz"
STREAMS_OF_ALL = 20
"""One in so many inputs is a TCP stream; it costs some times what a packet does."""

_LONGEST = {"packets": 700, "streams": 2000}
_BY_BYTES = 0.4
"""Of so many inputs libFuzzer changes bytes without a thought of DNS."""
_HANGS_AFTER = 30
"""Seconds after which an input counts as one that hangs."""
_TRIED = re.compile(r"stat::number_of_executed_units: (\d+)")
_LAST_LINES = 40


@dataclass(frozen=True)
class Share:
    """What one process is to try."""

    target: Target
    inputs: int
    seed: int


@dataclass(frozen=True)
class Tried:
    """What became of a share; `log` is what its process said."""

    share: Share
    inputs: int
    is_good: bool
    log: Path


def shares(inputs: int, seed: int, processes: int) -> list[Share]:
    """`inputs` as shares of packets and of streams, as many of each as there are processes."""
    streams = inputs // STREAMS_OF_ALL
    return [
        Share(target, count // processes + (number < count % processes), seed + number)
        for target, count in zip(TARGETS, (inputs - streams, streams), strict=True)
        for number in range(processes)
        if count // processes + (number < count % processes)
    ]


def search(inputs: int, seed: int, processes: int, folder: Path) -> int:
    """Try `inputs` inputs, `processes` at a time; 0 when all kept the rules, else 1."""
    folder.mkdir(parents=True, exist_ok=True)
    started = time.monotonic()
    tried: list[Tried] = []
    for target in TARGETS:
        chosen = [share for share in shares(inputs, seed, processes) if share.target == target]
        began = time.monotonic()
        found = _side_by_side(chosen, folder)
        tried += found
        print(_line(target, found, time.monotonic() - began), flush=True)
    for each in tried:
        if not each.is_good:
            lines = each.log.read_text(errors="replace").splitlines()
            print(f"fuzz: {each.log}:", *lines[-_LAST_LINES:], sep="\n")
    print(_line("in total", tried, time.monotonic() - started), flush=True)
    return 0 if all(each.is_good for each in tried) else 1


def _line(what: str, tried: Sequence[Tried], seconds: float) -> str:
    count, bad = sum(each.inputs for each in tried), sum(not each.is_good for each in tried)
    verdict = "all were answered or dropped" if not bad else f"FAILED in {bad} of {len(tried)} processes"
    return f"fuzz: {what}: {count:,} inputs in {seconds:.0f} s, {count / seconds:,.0f}/s, {verdict}"


def _side_by_side(chosen: Sequence[Share], folder: Path) -> list[Tried]:
    with ExitStack() as stack:
        running = [_started(share, folder, stack) for share in chosen]
        return [_ended(share, process, log) for share, process, log in running]


def _started(share: Share, folder: Path, stack: ExitStack) -> tuple[Share, subprocess.Popen[bytes], Path]:
    log = folder / f"{share.target}-{share.seed}.log"
    output: IO[bytes] = stack.enter_context(log.open("wb"))
    options = ("--one", share.target, "--inputs", str(share.inputs), "--seed", str(share.seed))
    command = (sys.executable, "-m", __spec__.name, *options, "--folder", str(folder))
    process = stack.enter_context(subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT))
    stack.callback(process.kill)
    return share, process, log


def _ended(share: Share, process: subprocess.Popen[bytes], log: Path) -> Tried:
    status = process.wait()
    counted = _TRIED.search(log.read_text(errors="replace"))
    inputs = int(counted.group(1)) if counted else 0
    # A process that ended early tried too little, whatever its status says.
    return Tried(share, inputs, status == 0 and inputs >= share.inputs, log)


def search_alone(share: Share, folder: Path) -> None:
    """Try the share in this process, which ends with it."""
    try:
        import atheris
    except ImportError:
        sys.exit("fuzz: atheris is not installed: pip install --constraint constraints.txt -e '.[dev,fuzz]'")
    with atheris.instrument_imports(include=["mcs_dns"]):
        judge = judge_of(share.target)
    place = folder / f"{share.target}-{share.seed}"
    shutil.rmtree(place, ignore_errors=True)
    reached, beginning, words = (place / name for name in ("reached", "beginning", "words"))
    reached.mkdir(parents=True)
    beginning.mkdir()
    words.write_text(dictionary())
    kept = [path.read_bytes() for path in committed(share.target)]
    for number, seed in enumerate([*seeds(share.target), *kept]):
        (beginning / f"{number:04}").write_bytes(seed)
    options = {
        "runs": share.inputs,
        # libFuzzer takes 0 as a wish for a random one.
        "seed": share.seed % 2**32 or 1,
        "max_len": _LONGEST[share.target],
        "timeout": _HANGS_AFTER,
        "dict": words,
        "artifact_prefix": f"{folder}/{share.target}-",
        "print_final_stats": 1,
    }
    arguments = [f"-{name}={value}" for name, value in options.items()]

    def mutated(data: bytes, longest: int, number: int) -> bytes:
        chance = Random(number)
        if chance.random() < _BY_BYTES:
            return bytes(atheris.Mutate(data, longest))
        return (mutated_packet if share.target == "packets" else mutated_stream)(data, chance)[:longest]

    atheris.Setup([sys.argv[0], *arguments, str(reached), str(beginning)], judge, custom_mutator=mutated)
    atheris.Fuzz()


def judge_of(target: Target) -> Callable[[bytes], None]:
    """What judges an input of the target; raises what is wrong with it."""
    from tests.fuzz.checks import Packets, Streams

    if target == "packets":
        return Packets()
    loop = uvloop.new_event_loop()
    streams = Streams()
    loop.run_until_complete(streams.__aenter__())
    return lambda data: loop.run_until_complete(streams.check(data))


def main(arguments: Sequence[str]) -> int:
    """The exit status: 0 when every input was answered or dropped."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.run", description=__doc__)
    parser.add_argument("--inputs", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=secrets.randbelow(2**31))
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--folder", type=Path, default=FOLDER, help=argparse.SUPPRESS)
    parser.add_argument("--one", choices=TARGETS, help=argparse.SUPPRESS)
    parser.add_argument(
        "--replay", type=Path, help="judge this input, of the target that its name begins with"
    )
    chosen = parser.parse_args(arguments)
    if chosen.replay:
        judge_of(next(target for target in TARGETS if chosen.replay.name.startswith(target)))(
            chosen.replay.read_bytes()
        )
        return 0
    if chosen.one:
        search_alone(Share(chosen.one, chosen.inputs, chosen.seed), chosen.folder)
        return 0
    print(f"fuzz: --inputs {chosen.inputs} --seed {chosen.seed}", flush=True)
    return search(chosen.inputs, chosen.seed, chosen.processes, chosen.folder)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
