"""The chart's ValidatingAdmissionPolicy, judged by a real API server: ours pass, what is not ours is refused (F1)."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable

import pytest
import pytest_asyncio
import yaml

from mcs.membership.policy import parse_policy
from tests.lab.binaries import built
from tests.lab.helm import Helm
from tests.lab.kubectl import Kubectl, KubectlError
from tests.lab.mcs import eventually
from tests.real.chart_roles import ROLES, chosen, container

OURS = {"app.kubernetes.io/managed-by": "mcs-controller"}
REFUSED = "not managed by it|does not label as its own"


def manifest(kind: str, name: str, namespace: str, labels: dict[str, str], port: int = 80) -> str:
    metadata = {"name": name, "namespace": namespace, "labels": labels}
    ports = [{"name": "http", "port": port, "protocol": "TCP"}]
    if kind == "services":
        return yaml.safe_dump(
            {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": {"ports": ports}}
        )
    body = {"addressType": "IPv4", "endpoints": [{"addresses": ["10.9.0.1"]}], "ports": ports}
    return yaml.safe_dump(
        {"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "metadata": metadata, **body}
    )


class Hub:
    """kubectl as the identity that the hub works with in a member."""

    def __init__(self, kubectl: Kubectl, namespace: str) -> None:
        self._kubectl = kubectl
        self._who = f"--as=system:serviceaccount:{namespace}:mcs-hub"

    async def apply(self, text: str) -> str:
        manager = ("--server-side", "--field-manager=mcs-controller", "--force-conflicts")
        return await self._kubectl("apply", *manager, "-f", "-", self._who, stdin=text)

    async def delete(self, kind: str, name: str, namespace: str) -> str:
        return await self._kubectl("delete", kind, name, "--namespace", namespace, self._who)


@pytest_asyncio.fixture(loop_scope="session")
async def hub(
    kubectl_for: Callable[[str], Kubectl], namespace: str, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Hub]:
    """The identity of the chart, with its rights and the policy in force."""
    east, helm = kubectl_for("east"), Helm(built("helm"), tmp_path_factory.mktemp("helm"))
    values = {"admissionPolicy": {"enabled": True}, "member": {"dns": {"enabled": False}}}
    text = yaml.safe_dump_all(await helm.template("mcs", namespace, values))
    await east("apply", "-f", "-", stdin=text)
    one = Hub(east, namespace)
    try:

        async def in_force() -> bool:
            try:
                await one.apply(manifest("services", "probe", namespace, {}))
            except KubectlError as error:
                return re.search(REFUSED, str(error)) is not None
            return False

        await eventually("the policy is in force", in_force)
        yield one
    finally:
        await east("delete", "-f", "-", "--ignore-not-found", stdin=text)


async def test_ours_pass_and_foreign_ones_are_refused(
    hub: Hub, kubectl_for: Callable[[str], Kubectl], namespace: str
) -> None:
    east = kubectl_for("east")
    for kind in ("services", "endpointslices"):
        await hub.apply(manifest(kind, "ours", namespace, OURS))
        await hub.apply(manifest(kind, "ours", namespace, OURS, port=81))
        await hub.delete(kind, "ours", namespace)
        await east("apply", "-f", "-", stdin=manifest(kind, "users", namespace, {}))
        for text in (
            manifest(kind, "new", namespace, {}),
            manifest(kind, "new", namespace, {"app.kubernetes.io/managed-by": "helm"}),
            manifest(kind, "users", namespace, OURS),
        ):
            with pytest.raises(KubectlError, match=REFUSED):
                await hub.apply(text)
        with pytest.raises(KubectlError, match="not managed by it"):
            await hub.delete(kind, "users", namespace)
        held = yaml.safe_load(await east("get", kind, "users", "--namespace", namespace, "-o", "yaml"))
        assert (held["spec"] if kind == "services" else held)["ports"][0]["port"] == 80
        assert "labels" not in held["metadata"] or OURS.items() - held["metadata"]["labels"].items()


async def test_others_are_not_held_to_it(
    hub: Hub, kubectl_for: Callable[[str], Kubectl], namespace: str
) -> None:
    east = kubectl_for("east")
    await east("apply", "-f", "-", stdin=manifest("services", "free", namespace, {}))
    assert "deleted" in await east("delete", "services", "free", "--namespace", namespace)


async def test_the_policy_of_the_chart_is_one_that_the_controller_reads(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    helm = Helm(built("helm"), tmp_path_factory.mktemp("helm"))
    manifests = await helm.template("mcs", "mcs-system", ROLES["both, with every option"])
    (text,) = chosen(manifests, "ConfigMap", "mcs-controller-policy")["data"].values()
    policy = parse_policy(yaml.safe_load(text))
    assert (policy.precedence, policy.default.caps.exports) == ("first-seen", 500)
    assert "mcs-system" in policy.default.denied
    arguments = container(chosen(manifests, "Deployment", "mcs-controller"))["args"]
    assert "--policy=/etc/mcs-policy/policy.yaml" in arguments
