"""Sequences of requests, as they are written in `requests/*.yaml`.

Leaves sending them to `replayer`. The form is explained in `README.md` beside this file. A value taken from
an earlier answer is written `${step-name:/json/pointer}`.
"""

import re
from pathlib import Path
from typing import Any, Literal

import msgspec
import yaml

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
REFERENCE = re.compile(r"\$\{([a-z0-9-]+):(/[^}]*)\}")


class Until(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The request is repeated, 10 seconds at most, until its answer has this code (and this value there)."""

    code: int = 200
    path: str | None = None
    value: Any = None


class Step(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One request. `keep`, `only` and `omit` say which part of the answer's body is compared."""

    name: str
    request: str
    user: Literal["admin", "stranger", "anonymous"] = "admin"
    accept: str = "application/json"
    content: str = "application/json"
    body: Any = msgspec.UNSET
    text: str | None = None
    file: str | None = None
    events: int | None = None
    until: Until | None = None
    keep: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    omit: tuple[str, ...] = ()

    @property
    def method(self) -> str:
        return self.request.split(" ", 1)[0]

    @property
    def path(self) -> str:
        return self.request.split(" ", 1)[1].strip()

    @property
    def is_watch(self) -> bool:
        return re.search(r"[?&]watch=(true|1)\b", self.path) is not None

    def payload(self) -> str | None:
        """The body as it is sent, references not yet filled in: JSON for `body` and `file`."""
        if self.text is not None:
            return self.text
        if self.file is not None:
            return msgspec.json.encode(yaml.safe_load((ROOT / self.file).read_text())).decode()
        return None if self.body is msgspec.UNSET else msgspec.json.encode(self.body).decode()


class Sequence(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One file: what it is about, and its requests in order."""

    about: str
    steps: tuple[Step, ...]
    name: str = ""
    literals: str = ""


def load(path: Path) -> Sequence:
    """The sequence in a file; raises ValueError when two steps share a name or a body is given twice."""
    text = path.read_text()
    sequence = msgspec.convert(yaml.safe_load(text), Sequence)
    names = [step.name for step in sequence.steps]
    doubled = sorted({name for name in names if names.count(name) > 1})
    if doubled:
        raise ValueError(f"{path.name}: step names must be unique: {doubled}")
    for step in sequence.steps:
        if (step.text is not None) + (step.file is not None) + (step.body is not msgspec.UNSET) > 1:
            raise ValueError(f"{path.name}: {step.name} has more than one of body, text, file")
    bodies = "".join((ROOT / step.file).read_text() for step in sequence.steps if step.file)
    return msgspec.structs.replace(sequence, name=path.stem, literals=text + bodies)


def all_sequences(folder: Path = HERE / "requests") -> tuple[Sequence, ...]:
    """Every sequence, in the order of the file names."""
    return tuple(load(path) for path in sorted(folder.glob("*.yaml")))
