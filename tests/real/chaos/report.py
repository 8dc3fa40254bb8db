"""A chaos run as the tables of docs/reliability.md."""

from __future__ import annotations

from collections.abc import Iterator

from tests.real.chaos.judge import counts
from tests.real.chaos.measures import growth
from tests.real.chaos.play import Seen

_MEGABYTE = 1e6


def report(seen: Seen) -> str:
    """Markdown."""
    parts = (_figures(seen), _faults(seen), _programs(seen), _memory(seen))
    return "\n".join("".join(f"{line}\n" for line in part) for part in parts)


def _figures(seen: Seen) -> Iterator[str]:
    answered = ", ".join(f"{count} {rcode}" for rcode, count in counts(seen.answers).items())
    yield f"| storm of {seen.seconds / 60:g} minutes | seed `{seen.seed}` |"
    yield "| --- | --- |"
    yield f"| faults | {sum(seen.happened.values())} of {len(seen.happened)} kinds |"
    yield f"| changes by users | {seen.changes} |"
    yield f"| questions asked | {len(seen.answers)}: {answered} |"
    yield f"| wrong answers | {len(seen.wrong)} |"
    yield f"| different from a fresh computation | {len(seen.left)}, {seen.to_rest:.1f} s after the storm |"


def _faults(seen: Seen) -> Iterator[str]:
    yield "| fault | times |"
    yield "| --- | --- |"
    for kind, times in sorted(seen.happened.items()):
        yield f"| {kind} | {times} |"


def _memory(seen: Seen) -> Iterator[str]:
    """How the memory of those that live on goes: one that grows without end shows in every line."""
    yield "| RSS in MB, each 90 seconds | |"
    yield "| --- | --- |"
    for name in sorted(seen.survivors):
        samples, sizes, due = seen.samples.get(name, []), [], 0.0
        for seconds, size in samples:
            if seconds >= due:
                sizes.append(f"{size / _MEGABYTE:.0f}")
                due = seconds + 90.0
        yield f"| {name} | {', '.join(sizes)} |"


def _programs(seen: Seen) -> Iterator[str]:
    yield "| program | tasks before, after | sockets before, after | RSS before, after | growth after 3 minutes |"
    yield "| --- | --- | --- | --- | --- |"
    for name, before in sorted(seen.before.items()):
        after = seen.after.get(name, before)
        tasks = f"{sum(dict(before.tasks).values())}, {sum(dict(after.tasks).values())}"
        sizes = f"{before.resident / _MEGABYTE:.0f} MB, {after.resident / _MEGABYTE:.0f} MB"
        grown = growth(seen.samples.get(name, []), 180.0)
        told = (
            "killed meanwhile"
            if name not in seen.survivors
            else "too short"
            if grown is None
            else f"{grown:.1%}"
        )
        yield f"| {name} | {tasks} | {before.sockets}, {after.sockets} | {sizes} | {told} |"
