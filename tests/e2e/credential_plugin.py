"""An exec plugin for tests, and a server that is particular about tokens."""

import json
import sys
from pathlib import Path

from aiohttp import web

from mcs.kube.client import Client
from mcs.model.resources import SERVICES
from tests.e2e.scripted_api import Handler, service, status

PLUGIN = """\
import json, os, sys, time
folder, = sys.argv[1:]
with open(f"{folder}/runs", "a") as runs:
    runs.write("run\\n")
with open(f"{folder}/pid", "w") as pid:
    pid.write(str(os.getpid()))
with open(f"{folder}/info", "w") as info:
    info.write(os.environ["KUBERNETES_EXEC_INFO"])
exec(open(f"{folder}/behaviour").read())
"""


class Plugin:
    """An exec plugin in `folder` that counts its runs and prints an ExecCredential."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "plugin.py").write_text(PLUGIN)
        self.user = {
            "exec": {
                "apiVersion": "client.authentication.k8s.io/v1",
                "command": sys.executable,
                "args": ["-I", str(folder / "plugin.py"), str(folder)],
                "provideClusterInfo": True,
                "env": [{"name": "UNUSED", "value": "x"}],
            }
        }

    def answers(self, **status_: str) -> None:
        credential = {
            "apiVersion": "client.authentication.k8s.io/v1",
            "kind": "ExecCredential",
            "status": status_,
        }
        self.does(f"print({json.dumps(credential)!r})")

    def does(self, code: str) -> None:
        (self.folder / "behaviour").write_text(code)

    @property
    def runs(self) -> int:
        runs = self.folder / "runs"
        return len(runs.read_text().splitlines()) if runs.exists() else 0


def accepting(tokens: set[str], seen: list[str]) -> Handler:
    """Answers 401 to all but these tokens, and keeps what was sent."""

    async def handler(request: web.Request) -> web.Response:
        token = request.headers.get("Authorization", "").removeprefix("Bearer ")
        seen.append(token)
        return web.json_response(service("web")) if token in tokens else status(401, "Unauthorized")

    return handler


async def ask(client: Client) -> None:
    await client.get(SERVICES, "shop", "web")
