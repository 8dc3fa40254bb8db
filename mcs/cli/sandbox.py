"""`mcs sandbox`: runs the demonstration clusterset until a signal or the end of its check."""

import sys

from rich.console import Console

from mcs.cli.logs import set_up_logs
from mcs.cli.options import parse_log_level
from mcs.cli.problems import UserMistakeError
from mcs.cli.running import run
from mcs.sandbox.demo.running import SandboxError, run_demo


def run_sandbox(*, check: bool, log_level: str) -> None:
    """Exits with status 1 when the check fails. Raises UserMistakeError when the sandbox does not come to answer."""
    set_up_logs(parse_log_level(log_level), as_json=False)
    results: list[bool] = []

    async def main() -> None:
        try:
            results.append(await run_demo(Console(), check=check))
        except SandboxError as error:
            raise UserMistakeError(str(error)) from error

    run(main)
    if check and results != [True]:
        sys.exit(1)
