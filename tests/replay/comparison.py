"""What differs between a recorded answer and a replayed one, and which differences are listed as known.

A difference is a path into the answer (`/code`, `/type`, `/body/metadata/labels`) and the two values. The
list of known ones is `differences.yaml`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import msgspec
import yaml

from tests.replay.body_parts import ABSENT
from tests.replay.replayer import Answers


@dataclass(frozen=True)
class Difference:
    """One place where two answers to the same request are not equal."""

    request: str
    path: str
    recorded: Any
    replayed: Any

    def __str__(self) -> str:
        values = f"    recorded: {_short(self.recorded)}\n    replayed: {_short(self.replayed)}"
        return f"{self.request} {self.path}\n{values}"


class Known(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A listed difference: where it may occur (`*` matches anything, what lies beneath counts), and why."""

    request: str
    path: str
    why: str

    def covers(self, difference: Difference) -> bool:
        return fnmatchcase(difference.request, self.request) and (
            fnmatchcase(difference.path, self.path) or fnmatchcase(difference.path, self.path + "/*")
        )


@dataclass(frozen=True)
class Verdict:
    """The outcome of one comparison; `requests` counts the answers that were compared."""

    requests: int
    equal: int
    listed: int
    unlisted: tuple[Difference, ...]
    stale: tuple[Known, ...]

    def __str__(self) -> str:
        others = self.requests - self.equal - self.listed
        lines = [
            f"{self.requests} requests replayed: {self.equal} answered equally, "
            f"{self.listed} with listed differences, {others} with unlisted ones"
        ]
        lines += [str(difference) for difference in self.unlisted]
        lines += [f"listed, but it no longer occurs: {known.request} {known.path}" for known in self.stale]
        return "\n".join(lines)


def known_differences(file: Path) -> tuple[Known, ...]:
    """The listed differences."""
    return msgspec.convert(yaml.safe_load(file.read_text()) or [], tuple[Known, ...])


def judge(
    recorded: dict[str, Answers],
    replayed: dict[str, Answers],
    known: tuple[Known, ...],
) -> Verdict:
    """Compares answers by sequence name; every sequence of either side counts."""
    equal, listed, requests = 0, 0, 0
    unlisted: list[Difference] = []
    seen: set[Known] = set()
    for sequence in sorted(recorded.keys() | replayed.keys()):
        ours = {answer["name"]: answer for answer in replayed.get(sequence, [])}
        theirs = {answer["name"]: answer for answer in recorded.get(sequence, [])}
        for name in dict.fromkeys([*theirs, *ours]):
            requests += 1
            found = list(differences(f"{sequence}/{name}", theirs.get(name, ABSENT), ours.get(name, ABSENT)))
            reasons = [[entry for entry in known if entry.covers(difference)] for difference in found]
            seen.update(entry for entries in reasons for entry in entries)
            open_ones = [
                difference for difference, entries in zip(found, reasons, strict=True) if not entries
            ]
            unlisted += open_ones
            equal += not found
            listed += bool(found) and not open_ones
    return Verdict(
        requests, equal, listed, tuple(unlisted), tuple(entry for entry in known if entry not in seen)
    )


def differences(request: str, recorded: Any, replayed: Any, path: str = "") -> Iterator[Difference]:
    """Every smallest place at which the two values differ."""
    if isinstance(recorded, dict) and isinstance(replayed, dict):
        for key in sorted(recorded.keys() | replayed.keys()):
            yield from differences(
                request,
                recorded.get(key, ABSENT),
                replayed.get(key, ABSENT),
                f"{path}/{key.replace('/', '~1')}",
            )
    elif isinstance(recorded, list) and isinstance(replayed, list):
        for index in range(max(len(recorded), len(replayed))):
            yield from differences(
                request,
                recorded[index] if index < len(recorded) else ABSENT,
                replayed[index] if index < len(replayed) else ABSENT,
                f"{path}/{index}",
            )
    elif recorded != replayed or type(recorded) is not type(replayed):
        yield Difference(request, path, recorded, replayed)


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return text if len(text) <= 400 else f"{text[:400]}… ({len(text)} characters)"
