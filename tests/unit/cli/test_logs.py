"""Logs as a process writes them: for people, or one JSON object a line; never the values of local variables."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

SCRIPT = """
import logging
import sys
import warnings

import structlog

from mcs.cli.logs import set_up_logs
from mcs.cli.running import run

def fail(token):
    raise ValueError("no luck")

def fail_with_a_token_at_hand():
    fail("-".join(["planted", "token"]))

set_up_logs("info", as_json=sys.argv[1] == "json")
log = structlog.get_logger("ours")
log.debug("hidden")
log.info("shown", cluster="east", odd={1, 2}, text="one\\ntwo")
try:
    fail_with_a_token_at_hand()
except ValueError as error:
    log.exception("unexpected failure")
    logging.getLogger("library").error("library failed %s", "twice", exc_info=True)
logging.getLogger("library").info("hidden")
warnings.warn("be careful")

async def main():
    fail_with_a_token_at_hand()

run(main)
"""


def _logged(form: str) -> tuple[int, str]:
    """Exit status and standard error of the script."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, form], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout == "", "logs go to standard error"
    assert "hidden" not in done.stderr
    assert "planted-token" not in done.stderr, "a local variable was shown"
    return done.returncode, done.stderr


def test_for_machines_every_line_is_one_object() -> None:
    status, text = _logged("json")

    lines: list[dict[str, Any]] = [json.loads(line) for line in text.splitlines()]
    assert [(line["event"], line["level"]) for line in lines if "careful" not in line["event"]] == [
        ("shown", "info"),
        ("unexpected failure", "error"),
        ("library failed twice", "error"),
        ("ended by an unexpected failure", "critical"),
    ]
    assert [line["level"] for line in lines if "careful" in line["event"]] == ["warning"]
    assert all(line["timestamp"].endswith("Z") for line in lines)
    assert lines[0]["cluster"] == "east"
    assert lines[0]["text"] == "one\ntwo"
    for line in lines:
        failed = line["event"] != "shown" and "careful" not in line["event"]
        assert failed == ("exception" in line)
        if failed:
            assert "ValueError: no luck" in line["exception"]
            assert "fail_with_a_token_at_hand" in line["exception"]
    assert status == 1


def test_for_people_lines_are_plain_text() -> None:
    status, text = _logged("console")

    assert "\x1b" not in text, "no colour where there is no terminal"
    assert "cluster=east" in text
    assert text.count("ValueError: no luck") == 3
    assert "library failed twice" in text
    assert "be careful" in text
    assert status == 1
