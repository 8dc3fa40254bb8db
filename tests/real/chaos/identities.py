"""Who our programs are in each cluster of a storm: ServiceAccounts with the rights of the README, whose tokens end.

A revoked token is that of a ServiceAccount which is gone. Programs find the next one in the same file.
"""

from __future__ import annotations

from pathlib import Path

import yaml

from tests.lab.rights import roles_of_the_readme
from tests.real.chaos.api import AdminApi

_NAMESPACE = "mcs-system"
_ACCOUNTS = f"/api/v1/namespaces/{_NAMESPACE}/serviceaccounts"
_RBAC = "/apis/rbac.authorization.k8s.io/v1"
_HOUR = 3600


class Identity:
    """One ServiceAccount of one cluster, called like its ClusterRole; `token` is the file of its token."""

    def __init__(self, role: str, api: AdminApi, folder: Path) -> None:
        self.token = folder / f"{role}-at-{api.cluster}.token"
        self._role = role
        self._api = api

    async def grant(self) -> None:
        """Make the account with its rights and its first token."""
        roles = {each["metadata"]["name"]: each for each in yaml.safe_load_all(roles_of_the_readme())}
        binding = {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": self._role},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": self._role},
            "subjects": [{"kind": "ServiceAccount", "name": self._role, "namespace": _NAMESPACE}],
        }
        await self._api.apply({"Namespace": _NAMESPACE})
        await self._api.apply_object(f"{_RBAC}/clusterroles/{self._role}", roles[self._role])
        await self._api.apply_object(f"{_RBAC}/clusterrolebindings/{self._role}", binding)
        await self.restore()

    async def revoke(self) -> None:
        """Let the tokens that there are become invalid; the API server notices within 10 s."""
        await self._api.request("DELETE", f"{_ACCOUNTS}/{self._role}")

    async def restore(self) -> None:
        """Make the account, unless it is there, and a new token."""
        account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": self._role}}
        await self._api.request("POST", _ACCOUNTS, account)
        request = {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "spec": {"expirationSeconds": _HOUR},
        }
        answer = await self._api.request("POST", f"{_ACCOUNTS}/{self._role}/token", request)
        # Replaced and not written, for a program may be reading it.
        scratch = self.token.with_suffix(".new")
        scratch.write_text(answer["status"]["token"])
        scratch.rename(self.token)
