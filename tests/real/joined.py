"""Clusters made members by `mcs join`, and the kubeconfig that its registrations amount to."""

from __future__ import annotations

import asyncio
import base64
import json
from pathlib import Path
from typing import Any

import yaml

from tests.lab.kubectl import Kubectl
from tests.lab.mcs import MCS

SYSTEM = ("--namespace", "kube-federation-system")


async def mcs(*arguments: str, kubeconfig: Path) -> str:
    """What `mcs ARGUMENTS` prints. Raises AssertionError with what it says when it fails."""
    process = await asyncio.create_subprocess_exec(
        *MCS,
        *arguments,
        "--kubeconfig",
        str(kubeconfig),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, errors = await asyncio.wait_for(process.communicate(), 120)
    assert process.returncode == 0, errors.decode()
    return out.decode()


async def registered(host: Kubectl, name: str) -> tuple[dict[str, Any], str]:
    """The spec of a registration, and the token that its Secret holds."""
    found = json.loads(await host("get", "kubefedcluster", name, *SYSTEM, "-o", "json"))["spec"]
    secret = json.loads(await host("get", "secret", found["secretRef"]["name"], *SYSTEM, "-o", "json"))
    return found, base64.b64decode(secret["data"]["token"]).decode()


async def kubeconfig_of(host: Kubectl, file: Path, *names: str) -> Path:
    """A kubeconfig with a context for each of these members, with what the registry knows of them and no more."""
    config: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [],
        "users": [],
        "contexts": [],
    }
    for name in names:
        spec, token = await registered(host, name)
        cluster = {"server": spec["apiEndpoint"], "certificate-authority-data": spec["caBundle"]}
        config["clusters"].append({"name": name, "cluster": cluster})
        config["users"].append({"name": name, "user": {"token": token}})
        config["contexts"].append({"name": name, "context": {"cluster": name, "user": name}})
    _write(file, yaml.safe_dump(config | {"current-context": names[0]}))
    return file


def _write(file: Path, text: str) -> None:
    file.touch(mode=0o600)
    file.write_text(text)
