"""`mcs plan division`: divisions of replicas from a file, each divided by itself. How, is left to `mcs.federation`."""

import json
import sys
from pathlib import Path
from typing import Any, Literal

import msgspec
import yaml
from msgspec import Struct

from mcs.cli.problems import UserMistakeError, WrongOptionError
from mcs.federation.division import divide
from mcs.federation.replicas import ClusterPreference, Division, DivisionError, Mode, Rebalance
from mcs.model.names import ClusterId


class _Preference(Struct, forbid_unknown_fields=True):
    w: int = 0
    min: int = 0
    max: int | None = None


class _Row(Struct):
    """What a row may say; more is allowed, so that a file may also have the result that is expected."""

    total: int
    clusters: list[ClusterId]
    key: str = ""
    prefs: dict[str, _Preference] = {}
    current: dict[ClusterId, int] = {}
    capacity: dict[ClusterId, int] = {}
    rebalance: bool | Literal["never", "gradual", "always"] = False
    moves: int = 1
    mode: Mode = "kubefed"


def print_divisions(file: Path, output: str) -> None:
    """Print `plan` and `overflow` of each row, or `error` in their place, and exit with 1 if there is any of these."""
    if output not in ("json", "yaml"):
        raise WrongOptionError(f"--output {output} is neither json nor yaml")
    results = [divided_row(number, row) for number, row in enumerate(_rows(file), start=1)]
    if output == "json":
        print(json.dumps(results, indent=2))
    else:
        print(yaml.safe_dump(results, sort_keys=False), end="")
    problems = [result["error"] for result in results if "error" in result]
    if problems:
        sys.stdout.flush()
        print("\n".join(f"mcs: {problem}" for problem in problems), file=sys.stderr)
        sys.exit(1)


def divided_row(number: int, row: object) -> dict[str, Any]:
    """`plan`, with every candidate, and `overflow`, with those that have any; or `error`, which names the row."""
    try:
        divided = divide(_division(msgspec.convert(row, _Row)))
    except msgspec.ValidationError as error:
        said = str(error).replace("`$.", "`").replace(" - at `$`", "")
        return {
            "error": f"row {number}: {said}; write total, clusters and prefs as docs/federation.md has them"
        }
    except DivisionError as error:
        return {"error": f"row {number}: {error}"}
    return {"plan": divided.plan, "overflow": divided.overflow}


def _division(row: _Row) -> Division:
    rebalance: Rebalance = (
        row.rebalance if isinstance(row.rebalance, str) else "always" if row.rebalance else "never"
    )
    return Division(
        total=row.total,
        clusters=row.clusters,
        key=row.key,
        preferences={
            name: ClusterPreference(min_replicas=each.min, max_replicas=each.max, weight=each.w)
            for name, each in row.prefs.items()
        },
        current=row.current,
        capacity=row.capacity,
        rebalance=rebalance,
        moves=row.moves,
        mode=row.mode,
    )


def _rows(file: Path) -> list[object]:
    try:
        text = sys.stdin.read() if str(file) == "-" else file.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise UserMistakeError(f"--filename {file} cannot be read: {error}") from error
    try:
        document = json.loads(text)
    except ValueError:
        try:
            document = yaml.safe_load(text)
        except yaml.YAMLError as error:
            raise UserMistakeError(f"--filename {file} is neither JSON nor YAML: {error}") from error
    if not isinstance(document, list):
        raise UserMistakeError(f"--filename {file} has no list; write one, of one division a row")
    return document
