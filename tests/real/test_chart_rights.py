"""The chart grants what its programs need and nothing more: RBAC and the audit log of real API servers judge."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import aiohttp
import pytest
import yaml

from tests.lab.audit import Right, requests_of, rights_granted, rights_used
from tests.lab.binaries import built
from tests.lab.control_planes import ControlPlane, ControlPlanes, free_ports
from tests.lab.helm import Helm
from tests.lab.kubectl import Kubectl, kubectl_binary
from tests.lab.mcs import dig, eventually, rcode, running
from tests.lab.processes import LabProcess
from tests.lab.rights import roles_of_the_readme
from tests.real.chart_roles import ROLES, Manifest, chosen, container

# Granted, and yet never asked for in these clusters; each with its reason.
NEVER_ASKED_FOR_HERE = {
    # An admission plugin of OpenShift asks the authorizer for it, on behalf of whoever writes addresses of pods.
    Right("create", "discovery.k8s.io", "endpointslices/restricted"),
}
EXPORTED = """
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop}
spec:
  ports:
  - {name: http, port: 80, targetPort: 8080}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata:
  name: web-1
  namespace: shop
  labels: {kubernetes.io/service-name: web}
addressType: IPv4
ports:
- {name: http, port: 8080, protocol: TCP}
endpoints:
- addresses: [10.1.0.7]
---
apiVersion: multicluster.x-k8s.io/v1beta1
kind: ServiceExport
metadata: {name: web, namespace: shop}
---
apiVersion: multicluster.x-k8s.io/v1beta1
kind: ServiceExport
metadata: {name: without-a-service, namespace: shop}
"""


@pytest.fixture(scope="session")
def helm(tmp_path_factory: pytest.TempPathFactory) -> Helm:
    return Helm(built("helm"), tmp_path_factory.mktemp("helm"))


async def test_the_chart_grants_what_the_readme_lists_and_what_openshift_asks_for(helm: Helm) -> None:
    manifests = await helm.template("mcs", "mcs-system", ROLES["member"])
    readme = {role["metadata"]["name"]: role for role in yaml.safe_load_all(roles_of_the_readme())}
    for name, told, more in (
        ("mcs-hub", "mcs-controller", NEVER_ASKED_FOR_HERE),
        ("mcs-dns", "mcs-dns", set[Right]()),
    ):
        granted = list(rights_granted(chosen(manifests, "ClusterRole", name)["rules"]))
        assert len(granted) == len(set(granted))
        assert set(granted) == set(rights_granted(readme[told]["rules"])) | more


class Installed:
    """The chart in one cluster, and what its pods would be given."""

    def __init__(self, plane: ControlPlane, kubectl: Kubectl) -> None:
        self.plane = plane
        self.kubectl = kubectl

    async def pod(self, component: str, replaced: dict[str, str]) -> Manifest:
        """The container of a component, with addresses and folders that this machine has in its arguments."""
        namespace = ("--namespace", "mcs-system")
        found = await self.kubectl("get", "deployment", f"mcs-{component}", *namespace, "-o", "yaml")
        program = container(yaml.safe_load(found))
        arguments = "\n".join(program["args"])
        for old, new in replaced.items():
            assert old in arguments
            arguments = arguments.replace(old, new)
        return program | {"args": arguments.split("\n")}

    async def token(self, account: str) -> str:
        return await self.kubectl("create", "token", account, "--namespace", "mcs-system")


async def secret_of_members(folder: Path, account: str, installed: dict[str, Installed]) -> None:
    """What a Secret would hold: a kubeconfig with a context for each cluster, and the files with their tokens."""
    tokens = {name: await each.token(account) for name, each in installed.items()}
    config: Manifest = {"apiVersion": "v1", "kind": "Config", "current-context": next(iter(installed))}
    config |= {"clusters": [], "users": [], "contexts": []}
    for name, each in installed.items():
        cluster = {"server": each.plane.url, "certificate-authority": str(each.plane.ca_file)}
        config["clusters"].append({"name": name, "cluster": cluster})
        config["users"].append({"name": name, "user": {"tokenFile": f"{name}.token"}})
        config["contexts"].append({"name": name, "context": {"cluster": name, "user": name}})
    write(folder, {f"{name}.token": token for name, token in tokens.items()})
    write(folder, {"kubeconfig": yaml.safe_dump(config)})


def write(folder: Path, files: dict[str, str]) -> None:
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text)


async def probes_pass(process: LabProcess, program: Manifest, port: int) -> bool:
    """True when the kubelet would find the program alive and ready. Raises LabError when it has ended."""
    process.check_running()
    probes = ("startupProbe", "livenessProbe", "readinessProbe")
    paths = [program[probe]["httpGet"]["path"] for probe in probes]
    try:
        async with aiohttp.ClientSession() as session:
            for path in paths:
                async with session.get(f"http://127.0.0.1:{port}{path}") as response:
                    if response.status != 200:
                        return False
    except aiohttp.ClientError:
        return False
    return True


async def test_with_the_rights_of_the_chart_an_export_comes_answers_and_goes_and_no_right_is_left_unused(
    helm: Helm, tmp_path: Path
) -> None:
    dns_port, *metrics = free_ports(3)
    members, local, web = tmp_path / "members", tmp_path / "local", "web.shop.svc.clusterset.local"
    async with ControlPlanes(("east", "west"), audit=True) as planes:
        installed = {
            plane.name: Installed(plane, Kubectl(kubectl_binary(), plane.kubeconfig(), tmp_path))
            for plane in planes
        }
        for name, role in (("east", "both"), ("west", "member")):
            kubeconfig = planes[name].kubeconfig()
            notes = await helm.install("mcs", "mcs-system", ROLES[role], kubeconfig=kubeconfig, context=name)
            assert "clusterset.local:53 {" in notes
            await installed[name].kubectl("wait", "--for=condition=Established", "crd", "--all")
            await installed[name].kubectl("create", "namespace", "shop")
        east, west = installed["east"].kubectl, installed["west"].kubectl
        await secret_of_members(members, "mcs-hub", installed)
        await secret_of_members(local, "mcs-dns", {"west": installed["west"]})
        controller = await installed["east"].pod(
            "controller", {"/etc/mcs": str(members), "0.0.0.0:8080": f"127.0.0.1:{metrics[0]}"}
        )
        dns = await installed["west"].pod(
            "dns", {"0.0.0.0:53": f"127.0.0.1:{dns_port}", "0.0.0.0:8081": f"127.0.0.1:{metrics[1]}"}
        )
        as_its_account = ("--kubeconfig", str(local / "kubeconfig"))
        async with (
            running("controller", *controller["args"], folder=tmp_path) as one,
            running("dns", *dns["args"], *as_its_account, folder=tmp_path) as other,
        ):

            async def exported() -> bool:
                path = "jsonpath={.status.conditions[*].status}"
                return (
                    await east("get", "svcex", "web", "--namespace", "shop", "-o", path) == "True True False"
                )

            async def gone() -> bool:
                left = await west("get", "svcim,services,endpointslices", "--namespace", "shop", "-o", "name")
                return await rcode(dns_port, web, "A") == "NXDOMAIN" and not left

            for process, program, port in ((one, controller, metrics[0]), (other, dns, metrics[1])):
                await eventually("the probes pass", partial(probes_pass, process, program, port))
            await east("apply", "-f", "-", stdin=EXPORTED)
            await eventually("the export is Valid, Ready and without Conflict", exported)
            events = ("get", "events", "--namespace", "shop", "-o", "name")
            await eventually("the export without a Service is told of", lambda: east(*events))
            await eventually("its name answers", lambda: dig(dns_port, web, "A"))
            assert await dig(dns_port, web, "A", "+tcp")
            await east("delete", "svcex", "web", "--namespace", "shop")
            await eventually("name, derived Service and mirror go with the export", gone)
        for account, never in (("mcs-hub", NEVER_ASKED_FOR_HERE), ("mcs-dns", set[Right]())):
            role = yaml.safe_load(await west("get", "clusterrole", account, "-o", "yaml"))
            user = f"system:serviceaccount:mcs-system:{account}"
            requests = [request for plane in planes for request in requests_of(user, plane.audit_log)]
            assert [request for request in requests if request.response_status.code in (401, 403)] == []
            assert set(rights_granted(role["rules"])) - rights_used(requests) == never


async def test_uninstalling_leaves_the_definitions_and_so_every_import_where_it_is(
    helm: Helm, planes: ControlPlanes, kubectl_for: Callable[[str], Kubectl], namespace: str
) -> None:
    east, kubeconfig = kubectl_for("east"), planes["east"].kubeconfig()
    await helm.install("gone", namespace, ROLES["both"], kubeconfig=kubeconfig, context="east")
    imported = {
        "apiVersion": "multicluster.x-k8s.io/v1beta1",
        "kind": "ServiceImport",
        "metadata": {"name": "web"},
        "spec": {"type": "Headless", "ports": []},
    }
    await east("apply", "--namespace", namespace, "-f", "-", stdin=yaml.safe_dump(imported))
    await helm("uninstall", "gone", "--namespace", namespace, "--kubeconfig", str(kubeconfig))
    kinds = "svcim,deployments,services,serviceaccounts,clusterroles,clusterrolebindings"
    left = (await east("get", kinds, "--namespace", namespace, "-o", "name")).split()
    assert [name for name in left if "gone" in name or "serviceimport" in name] == [
        "serviceimport.multicluster.x-k8s.io/web"
    ]
