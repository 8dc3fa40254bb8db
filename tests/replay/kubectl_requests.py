"""Writes `requests/kubectl.yaml`: what stock kubectl sends, recorded by a proxy in front of a real API server.

    python -m tests.replay.kubectl_requests https://127.0.0.1:6443 CA_FILE TOKEN KUBECTL

Versions and uids that kubectl repeats from an earlier answer become references to it. Discovery is left out, and so is
protobuf in Accept (the sandbox answers JSON, which kubectl lists second). A watch is written down when it ends, with
the number of its events, since a replayed one reads them from history (from version 0 it sees the last state only).
"""

import asyncio
import base64
import json
import os
import re
import ssl
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import trustme
import yaml
import yarl
from aiohttp import web

from tests.replay.replayer import Server, server_at
from tests.replay.sequences import HERE

NAMESPACE = "replay-kubectl"
_BEFORE_AN_ORIGIN = (
    r'(resourceVersion=|resourceVersion"\s*,\s*"value":"|resourceVersion":\s*"|uid":\s*"|uid%3D)'
)
_CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_EXPORTS = f"/apis/multicluster.x-k8s.io/v1beta1/namespaces/{NAMESPACE}/serviceexports"

FIRST = f"""
apiVersion: v1
kind: Service
metadata: {{name: web, namespace: {NAMESPACE}}}
spec:
  selector: {{app: web}}
  ports: [{{name: http, port: 80, targetPort: http}}, {{name: https, port: 443, targetPort: https}}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {{name: web, namespace: {NAMESPACE}}}
spec:
  replicas: 2
  selector: {{matchLabels: {{app: web}}}}
  template:
    metadata: {{labels: {{app: web}}}}
    spec:
      containers:
        - name: web
          image: web:1
          ports: [{{name: http, containerPort: 8080}}, {{name: https, containerPort: 8443}}]
---
apiVersion: multicluster.x-k8s.io/v1beta1
kind: ServiceExport
metadata: {{name: web, namespace: {NAMESPACE}}}
"""
CHANGED = (
    FIRST.replace("web:1", "web:2")
    .replace("port: 443", "port: 8443")
    .replace("{app: web}\n  ports", "{app: www}\n  ports")
)
LABELLED = FIRST.replace("name: web, namespace", "labels: {team: a}, name: web, namespace")
SETTINGS = f"""
apiVersion: v1
kind: ConfigMap
metadata: {{name: settings, namespace: {NAMESPACE}}}
data: {{a: "1"}}
"""

# Each row: the name its requests get, kubectl's arguments, its standard input.
COMMANDS: tuple[tuple[str, str, str], ...] = (
    ("apply", "apply -f -", FIRST),
    ("apply-unchanged", "apply -f -", FIRST),
    ("apply-changed", "apply -f -", CHANGED),
    ("apply-labelled", "apply -f -", LABELLED),
    ("get-several", "get service,deployment,serviceexport", ""),
    ("get-yaml", "get deployment web -o yaml", ""),
    ("get-selected", "get svc -l app=web -o wide", ""),
    ("scale", "scale deployment web --replicas=3", ""),
    ("scale-conditionally", "scale deployment web --current-replicas=9 --replicas=1", ""),
    ("watch", "get deployments -w", ""),
    ("while-watching", "scale deployment web --replicas=2", ""),
    ("watch-one", "get deployment web -w", ""),
    ("while-watching-one", "scale deployment web --replicas=3", ""),
    ("set-image", "set image deployment/web web=web:3", ""),
    ("label", "label service web tier=front", ""),
    ("unlabel", "label service web tier-", ""),
    ("annotate", "annotate serviceexport web note=x", ""),
    ("patch-strategic", 'patch deployment web -p {"spec":{"minReadySeconds":1}}', ""),
    ("patch-merge", 'patch serviceexport web --type=merge -p {"spec":{"exportedLabels":{"a":"b"}}}', ""),
    ("patch-json", 'patch service web --type=json -p [{"op":"remove","path":"/spec/ports/1"}]', ""),
    (
        "patch-status",
        'patch deployment web --subresource=status --type=merge -p {"status":{"replicas":3}}',
        "",
    ),
    ("rollout-restart", "rollout restart deployment/web", ""),
    ("rollout-status", "rollout status deployment/web --watch=false", ""),
    ("server-side", "apply --server-side -f -", SETTINGS),
    ("server-side-again", "apply --server-side -f -", SETTINGS),
    ("server-side-changed", "apply --server-side -f -", SETTINGS.replace('a: "1"', 'b: "2"')),
    (
        "server-side-other",
        "apply --server-side --field-manager=other -f -",
        SETTINGS.replace('a: "1"', 'b: "3"'),
    ),
    ("server-side-forced", "apply --server-side --force-conflicts --field-manager=other -f -", SETTINGS),
    ("server-side-over-client-side", "apply --server-side --force-conflicts -f -", FIRST),
    ("diff", "diff -f -", CHANGED),
    ("dry-run", "apply --dry-run=server -f -", CHANGED),
    ("replace", "replace -f -", SETTINGS),
    ("describe-service", "describe service web", ""),
    ("wait", "wait --for=delete configmap/absent --timeout=1s", ""),
    ("get-all-namespaces", "get svcex -A --field-selector=metadata.namespace=" + NAMESPACE, ""),
    ("delete", "delete configmap settings", ""),
    ("delete-missing", "delete configmap settings --ignore-not-found", ""),
    ("delete-selected", "delete services -l team=a", ""),
    ("delete-without-waiting", "delete deployment web --wait=false --cascade=orphan", ""),
    ("delete-export", "delete svcex web", ""),
)


@dataclass
class Recorder:
    """Forwards every request, and keeps what a replay needs of it."""

    server: Server
    session: aiohttp.ClientSession
    label: str = ""
    steps: list[dict[str, Any]] = field(default_factory=list)
    origins: dict[str, str] = field(default_factory=dict)

    async def forward(self, request: web.Request) -> web.StreamResponse:
        label, body = self.label, await request.read()
        headers = {"Authorization": f"Bearer {self.server.token}"}
        headers |= {
            name: request.headers[name] for name in ("Accept", "Content-Type") if name in request.headers
        }
        url = yarl.URL(self.server.url + request.raw_path, encoded=True)
        async with self.session.request(request.method, url, headers=headers, data=body or None) as answer:
            media_type = answer.headers.get("Content-Type", "text/plain")
            response = web.StreamResponse(status=answer.status, headers={"Content-Type": media_type})
            await response.prepare(request)
            content = b""
            try:
                async for chunk in answer.content.iter_any():
                    content += chunk
                    await response.write(chunk)
            except ConnectionResetError:
                pass  # kubectl has seen enough of a watch
            finally:
                self.note(label, request, body, content)
            return response

    def note(self, label: str, request: web.Request, body: bytes, content: bytes) -> None:
        """Adds the step, unless the request is discovery; remembers what its answer was the first to show."""
        path = request.raw_path
        if not re.match(r"/(api/v1|apis/[^/]+/[^/]+)/.", path):
            return
        taken = sum(1 for step in self.steps if re.fullmatch(rf"{re.escape(label)}-\d+", step["name"]))
        name = f"{label}-{taken + 1}"
        step: dict[str, Any] = {"name": name, "request": f"{request.method} {self.referring(path)}"}
        accept = re.sub(
            r"application/vnd\.kubernetes\.protobuf,?\s*", "", request.headers.get("Accept", "*/*")
        )
        if accept != "application/json":
            step["accept"] = accept
        if body:
            content_type = request.headers.get("Content-Type", "")
            if content_type != "application/json":
                step["content"] = content_type
            step["text"] = self.referring(body.decode())
        if "watch=true" in path:
            at_once = "resourceVersion=0&" in path
            step["events"] = (
                1 if at_once else sum(b'"type":"BOOKMARK"' not in line for line in content.splitlines())
            )
        self.steps.append(step)
        try:
            answer = json.loads(content)
        except ValueError:
            return
        if isinstance(answer, dict):
            for key in ("resourceVersion", "uid"):
                if found := answer.get("metadata", {}).get(key):
                    self.origins[found] = f"${{{name}:/metadata/{key}}}"

    def referring(self, text: str) -> str:
        for found, origin in self.origins.items():
            text = re.sub(_BEFORE_AN_ORIGIN + re.escape(found) + r"\b", rf"\1{origin}", text)
        return text


async def start(kubectl: str, kubeconfig: Path, arguments: str) -> asyncio.subprocess.Process:
    """One kubectl, which prints where this process does."""
    environment = {"KUBECONFIG": str(kubeconfig), "HOME": str(kubeconfig.parent), "PATH": os.environ["PATH"]}
    return await asyncio.create_subprocess_exec(
        kubectl, "-n", NAMESPACE, *arguments.split(" "), env=environment, stdin=asyncio.subprocess.PIPE
    )


async def run_all(kubectl: str, kubeconfig: Path, recorder: Recorder) -> None:
    """Every command, one after the other; a watching one (`-w`) is ended when the command after it has ended."""
    watching: asyncio.subprocess.Process | None = None
    for recorder.label, arguments, text in COMMANDS:
        print("$ kubectl", arguments, flush=True)
        process = await start(kubectl, kubeconfig, arguments)
        if arguments.endswith(" -w"):
            watching = process
            await asyncio.sleep(1)
            continue
        await process.communicate(text.encode())
        if watching is not None:
            await asyncio.sleep(0.5)
            watching.terminate()
            await watching.communicate()
            watching = None


async def record(server: Server, kubectl: str) -> None:
    """Runs every command through the proxy and writes the sequence."""
    authority = trustme.CA()
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert("127.0.0.1").configure_cert(tls)
    connector = aiohttp.TCPConnector(ssl=server.tls)
    async with aiohttp.ClientSession(connector=connector) as session:
        recorder = Recorder(server, session)
        application = web.Application(client_max_size=2**22)
        application.router.add_route("*", "/{path:.*}", recorder.forward)
        runner = web.AppRunner(application)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls)
        await site.start()
        with tempfile.TemporaryDirectory() as folder:
            kubeconfig = Path(folder) / "kubeconfig"
            kubeconfig.write_text(kubeconfig_text(runner.addresses[0][1], authority))
            await run_all(kubectl, kubeconfig, recorder)
        await runner.cleanup()
    steps = [*preparation(), *recorder.steps]
    about = "What kubectl 1.34 sends (written by kubectl_requests.py, not by hand)."
    text = yaml.safe_dump({"about": about, "steps": steps}, sort_keys=False, width=110, allow_unicode=True)
    (HERE / "requests" / "kubectl.yaml").write_text(text)


def kubeconfig_text(port: int, authority: trustme.CA) -> str:
    """A kubeconfig for the proxy; JSON is YAML."""
    data = base64.b64encode(authority.cert_pem.bytes()).decode()
    cluster = {"server": f"https://127.0.0.1:{port}", "certificate-authority-data": data}
    return json.dumps(
        {
            "clusters": [{"name": "proxy", "cluster": cluster}],
            "users": [{"name": "admin", "user": {"token": "admin"}}],
            "contexts": [{"name": "proxy", "context": {"cluster": "proxy", "user": "admin"}}],
            "current-context": "proxy",
        }
    )


def preparation() -> list[dict[str, Any]]:
    """The steps before kubectl's: a namespace, and the definition of ServiceExport, served."""
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
    definition = "crds/serviceexports.multicluster.x-k8s.io.yaml"
    return [
        {"name": "namespace", "request": "POST /api/v1/namespaces", "body": namespace},
        {
            "name": "definition",
            "request": f"POST {_CRDS}",
            "file": definition,
            "only": ["/kind", "/metadata/name"],
        },
        {"name": "served", "request": f"GET {_EXPORTS}", "until": {"code": 200}},
    ]


if __name__ == "__main__":
    asyncio.run(record(server_at(*sys.argv[1:4]), sys.argv[4]))
