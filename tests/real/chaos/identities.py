"""Who our programs are in each cluster of a storm: ServiceAccounts with the rights of the README, whose tokens end.

A revoked token is that of a ServiceAccount which is gone. Programs find the next one in the same file.
"""

from __future__ import annotations

from pathlib import Path

import yaml

from tests.lab.rights import roles_of_the_readme
from tests.real.chaos.api import AdminApi, Json

NAMESPACE = "mcs-system"
_ACCOUNTS = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts"
_RBAC = "/apis/rbac.authorization.k8s.io/v1"
_HOUR = 3600
_ELECTION: Json = {
    "apiVersion": "rbac.authorization.k8s.io/v1",
    "kind": "ClusterRole",
    "metadata": {"name": "mcs-election"},
    "rules": [
        {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["get", "create", "patch"]}
    ],
}


class Identity:
    """One ServiceAccount of one cluster, with the ClusterRole of that name; `token` is the file of its token."""

    def __init__(self, account: str, role: str, api: AdminApi, folder: Path) -> None:
        self.token = folder / f"{account}-at-{api.cluster}.token"
        self._account = account
        self._role = role
        self._api = api

    async def grant(self) -> None:
        """Make the account with its rights and its first token."""
        roles = {each["metadata"]["name"]: each for each in yaml.safe_load_all(roles_of_the_readme())}
        await self._api.apply({"Namespace": NAMESPACE})
        await self._bind(roles[self._role])
        if self._role == "mcs-controller":
            await self._bind(_ELECTION)
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
        # Replaced and not written, for a program may be reading it.
        scratch = self.token.with_suffix(".new")
        scratch.write_text(answer["status"]["token"])
        scratch.rename(self.token)
