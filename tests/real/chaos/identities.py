"""Who our programs are in each cluster of a storm: ServiceAccounts with the rights of the README, whose tokens end.

A revoked token is that of a ServiceAccount which is gone. Programs find the next one where the last was.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

import yaml

from tests.lab.rights import roles_of_the_readme
from tests.real.chaos.api import AdminApi, Json

NAMESPACE = "mcs-system"
_ACCOUNTS = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts"
_RBAC = "/apis/rbac.authorization.k8s.io/v1"
_HOUR = 3600
_HOST: Json = {
    "apiVersion": "rbac.authorization.k8s.io/v1",
    "kind": "ClusterRole",
    "metadata": {"name": "mcs-host"},
    "rules": [
        {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["get", "create", "patch"]},
        {
            "apiGroups": ["core.kubefed.io"],
            "resources": ["kubefedclusters", "kubefedclusters/status"],
            "verbs": ["get", "list", "watch", "patch"],
        },
        {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get", "list", "watch"]},
    ],
}
"""What the election and the registry take in the host cluster."""


class Identity:
    """One ServiceAccount of one cluster, with the ClusterRole of that name; `deliver` takes its token to its user."""

    def __init__(
        self, account: str, role: str, api: AdminApi, deliver: Callable[[str], Awaitable[None]]
    ) -> None:
        self._account = account
        self._role = role
        self._api = api
        self._deliver = deliver

    async def grant(self) -> None:
        """Make the account with its rights and its first token."""
        roles = {each["metadata"]["name"]: each for each in yaml.safe_load_all(roles_of_the_readme())}
        await self._api.apply({"Namespace": NAMESPACE})
        await self._bind(roles[self._role])
        if self._role == "mcs-controller":
            await self._bind(_HOST)
        await self.restore()

    async def _bind(self, role: Json) -> None:
        name, bound = role["metadata"]["name"], f"{role['metadata']['name']}-of-{self._account}"
        binding = {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": bound},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
            "subjects": [{"kind": "ServiceAccount", "name": self._account, "namespace": NAMESPACE}],
        }
        await self._api.apply_object(f"{_RBAC}/clusterroles/{name}", role)
        await self._api.apply_object(f"{_RBAC}/clusterrolebindings/{bound}", binding)

    async def revoke(self) -> None:
        """Let the tokens that there are become invalid; the API server notices within 10 s."""
        await self._api.request("DELETE", f"{_ACCOUNTS}/{self._account}")

    async def restore(self) -> None:
        """Make the account, unless it is there, and a new token."""
        account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": self._account}}
        await self._api.request("POST", _ACCOUNTS, account)
        request = {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "spec": {"expirationSeconds": _HOUR},
        }
        answer = await self._api.request("POST", f"{_ACCOUNTS}/{self._account}/token", request)
        await self._deliver(answer["status"]["token"])


def into_file(path: Path) -> Callable[[str], Awaitable[None]]:
    """Delivers a token into a file."""

    async def deliver(token: str) -> None:
        # Replaced and not written, for a program may be reading it.
        scratch = path.with_suffix(".new")
        scratch.write_text(token)
        scratch.rename(path)

    return deliver
