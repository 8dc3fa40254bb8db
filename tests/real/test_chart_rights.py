"""The chart grants what its programs need and nothing more: RBAC and the audit log of real API servers judge."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from typing import Literal

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
from tests.real.chart_roles import CONTROLLER, ROLES, Manifest, chosen, container
from tests.real.handwritten import WEB, exports_of

# Granted, and yet never asked for in these clusters; each with its reason.
NEVER_ASKED_FOR_HERE = {
    # An admission plugin of OpenShift asks the authorizer for it, on behalf of whoever writes addresses of pods.
    Right("create", "discovery.k8s.io", "endpointslices/restricted"),
}
AUTO_EXPORT: Manifest = {"autoExport": "tier=web"}
OF_PODS = "/var/run/secrets/kubernetes.io/serviceaccount"

Shape = Literal["hub", "mesh"]
ACCOUNTS: dict[Shape, tuple[str, ...]] = {
    "hub": ("mcs-hub", "mcs-dns"),
    "mesh": ("mcs-controller", "mcs-reader", "mcs-dns"),
}
WRITING = {"mcs-hub", "mcs-controller"}


@pytest.fixture(scope="session")
def helm(tmp_path_factory: pytest.TempPathFactory) -> Helm:
    return Helm(built("helm"), tmp_path_factory.mktemp("helm"))


async def rights_of(helm: Helm, values: Manifest, account: str) -> set[Right]:
    """What the chart grants to an account, no right twice."""
    role = chosen(await helm.template("mcs", "mcs-system", values), "ClusterRole", account)
    granted = list(rights_granted(role["rules"]))
    assert len(granted) == len(set(granted))
    return set(granted)


@pytest.mark.parametrize(
    ("role", "account", "told"),
    [
        ("member", "mcs-hub", "mcs-controller"),
        ("member", "mcs-dns", "mcs-dns"),
        ("mesh", "mcs-controller", "mcs-controller"),
        ("mesh", "mcs-dns", "mcs-dns"),
    ],
)
async def test_the_chart_grants_what_the_readme_lists_and_what_openshift_asks_for(
    role: str, account: str, told: str, helm: Helm
) -> None:
    readme = {role["metadata"]["name"]: role for role in yaml.safe_load_all(roles_of_the_readme())}
    more = NEVER_ASKED_FOR_HERE if account in WRITING else set[Right]()
    assert await rights_of(helm, ROLES[role], account) == set(rights_granted(readme[told]["rules"])) | more


async def test_in_the_mesh_shape_a_cluster_lets_the_others_do_nothing_but_read(helm: Helm) -> None:
    reader = await rights_of(helm, ROLES["mesh, with every option"], "mcs-reader")
    at_home = await rights_of(helm, ROLES["mesh"], "mcs-controller")
    reading = {each for each in at_home if each.verb in ("list", "watch")}
    assert reader == reading | {Right("get", "about.k8s.io", "clusterproperties")}


@pytest.mark.parametrize(("role", "account"), [("member", "mcs-hub"), ("mesh", "mcs-controller")])
async def test_only_automatic_exports_need_to_write_exports(role: str, account: str, helm: Helm) -> None:
    without = await rights_of(helm, ROLES[role], account)
    granted = await rights_of(helm, ROLES[role] | AUTO_EXPORT, account)
    exports = ("multicluster.x-k8s.io", "serviceexports")
    assert granted - without == {Right(verb, *exports) for verb in ("get", "create", "patch", "delete")}


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

    async def home(self, folder: Path) -> None:
        """What the ConfigMap would be mounted as, and the files of the pod's own ServiceAccount, in one folder."""
        namespace = ("--namespace", "mcs-system")
        found = await self.kubectl("get", "configmap", "mcs-controller", *namespace, "-o", "yaml")
        kubeconfig: str = yaml.safe_load(found)["data"]["kubeconfig"]
        for old, new in (("https://kubernetes.default.svc", self.plane.url), (OF_PODS, str(folder))):
            assert old in kubeconfig
            kubeconfig = kubeconfig.replace(old, new)
        token = await self.token("mcs-controller")
        write(folder, {"kubeconfig": kubeconfig, "token": token, "ca.crt": self.plane.ca_file.read_text()})


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


def values_of(shape: Shape, cluster: str, *, auto_export: bool) -> Manifest:
    """What the chart is installed with in the cluster east or west, whose ids are east and west-1."""
    values = AUTO_EXPORT if auto_export else {}
    if shape == "hub":
        return ROLES["both" if cluster == "east" else "member"] | values
    own = {"east": "east", "west": "west-1"}[cluster]
    return ROLES["mesh"] | {"controller": CONTROLLER | {"self": own}} | values


async def controllers_of(
    shape: Shape, installed: dict[str, Installed], folder: Path, ports: list[int]
) -> list[Manifest]:
    """The containers of the shape's controllers, each with the next of the ports for its metrics."""
    if shape == "hub":
        members, home = folder / "members", folder / "home"
        await secret_of_members(members, "mcs-hub", installed)
        await installed["east"].home(home)
        replaced = {
            "/etc/mcs/": f"{members}/",
            "/etc/mcs-home/": f"{home}/",
            "0.0.0.0:8080": f"127.0.0.1:{ports[0]}",
        }
        return [await installed["east"].pod("controller", replaced)]
    containers = []
    for name, port in zip(installed, ports, strict=True):
        members, home = folder / f"members of {name}", folder / f"home of {name}"
        others = {other: each for other, each in installed.items() if other != name}
        await secret_of_members(members, "mcs-reader", others)
        await installed[name].home(home)
        replaced = {
            "/etc/mcs/": f"{members}/",
            "/etc/mcs-home/": f"{home}/",
            "0.0.0.0:8080": f"127.0.0.1:{port}",
        }
        containers.append(await installed[name].pod("controller", replaced))
    return containers


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


@pytest.mark.parametrize("auto_export", [False, True], ids=["by hand", "automatic"])
@pytest.mark.parametrize("shape", ["hub", "mesh"])
async def test_with_the_rights_of_the_chart_an_export_comes_answers_and_goes_and_no_right_is_left_unused(
    shape: Shape, auto_export: bool, helm: Helm, tmp_path: Path
) -> None:
    dns_port, dns_metrics, *metrics = free_ports(4)
    local = tmp_path / "local"
    async with ControlPlanes(("east", "west"), audit=True) as planes, AsyncExitStack() as processes:
        installed = {
            plane.name: Installed(plane, Kubectl(kubectl_binary(), plane.kubeconfig(), tmp_path))
            for plane in planes
        }
        for name, each in installed.items():
            values, kubeconfig = (
                values_of(shape, name, auto_export=auto_export),
                each.plane.kubeconfig(),
            )
            notes = await helm.install("mcs", "mcs-system", values, kubeconfig=kubeconfig, context=name)
            assert "clusterset.local:53 {" in notes
            assert f"create token {ACCOUNTS[shape][-2]} " in notes
            await each.kubectl("wait", "--for=condition=Established", "crd", "--all")
            await each.kubectl("create", "namespace", "shop")
        await secret_of_members(local, "mcs-dns", {"west": installed["west"]})
        dns = await installed["west"].pod(
            "dns", {"0.0.0.0:53": f"127.0.0.1:{dns_port}", "0.0.0.0:8081": f"127.0.0.1:{dns_metrics}"}
        )
        dns["args"] += ["--kubeconfig", str(local / "kubeconfig")]
        controllers = await controllers_of(shape, installed, tmp_path, metrics)
        ports = (dns_metrics, *metrics[: len(controllers)])
        for program, port in zip((dns, *controllers), ports, strict=True):
            process = await processes.enter_async_context(
                running(f"{program['name']}-{port}", *program["args"], folder=tmp_path)
            )
            await eventually("the probes pass", partial(probes_pass, process, program, port))
        await export_comes_answers_and_goes(installed, dns_port, auto_export=auto_export)
        home = installed["east"]
        lease = yaml.safe_load(
            await home.kubectl("get", "role", "mcs-controller", "--namespace", "mcs-system", "-o", "yaml")
        )
        told = partial(requests_of, "system:serviceaccount:mcs-system:mcs-controller", home.plane.audit_log)

        async def lease_is_renewed() -> bool:
            return set(rights_granted(lease["rules"])) <= rights_used(told())

        # Everything else may be over before the leader renews its Lease for the first time.
        await eventually("every right on the Lease is used", lease_is_renewed)
        assert [request for request in told() if request.response_status.code in (401, 403)] == []
        for account in ACCOUNTS[shape]:
            role = yaml.safe_load(
                await installed["west"].kubectl("get", "clusterrole", account, "-o", "yaml")
            )
            user = f"system:serviceaccount:mcs-system:{account}"
            requests = [request for plane in planes for request in requests_of(user, plane.audit_log)]
            assert [request for request in requests if request.response_status.code in (401, 403)] == []
            never = NEVER_ASKED_FOR_HERE if account in WRITING else set[Right]()
            assert set(rights_granted(role["rules"])) - rights_used(requests) == never, account


async def export_comes_answers_and_goes(
    installed: dict[str, Installed], dns_port: int, *, auto_export: bool
) -> None:
    """An export of east is answered by west's DNS and gone again; another has no Service."""
    east, west = installed["east"].kubectl, installed["west"].kubectl
    in_shop, web = ("--namespace", "shop"), "web.shop.svc.clusterset.local"

    async def exported() -> bool:
        path = "jsonpath={.status.conditions[*].status}"
        return (
            await east("get", "svcex", "web", *in_shop, "--ignore-not-found", "-o", path) == "True True False"
        )

    async def gone() -> bool:
        left = await west("get", "svcim,services,endpointslices", *in_shop, "-o", "name")
        return await rcode(dns_port, web, "A") == "NXDOMAIN" and not left

    exports = exports_of("without-a-service") if auto_export else exports_of("web", "without-a-service")
    await east("apply", *in_shop, "-f", "-", stdin=f"{WEB}---{exports}")
    if auto_export:
        await east("label", "service", "web", *in_shop, "tier=web")
    await eventually("the export is Valid, Ready and without Conflict", exported)
    events = ("get", "events", *in_shop, "-o", "name")
    await eventually("the export without a Service is told of", lambda: east(*events))
    await eventually("its name answers", lambda: dig(dns_port, web, "A"))
    assert await dig(dns_port, web, "A", "+tcp")
    if auto_export:
        await east("label", "service", "web", *in_shop, "tier-")
    else:
        await east("delete", "svcex", "web", *in_shop)
    await eventually("name, derived Service and mirror go with the export", gone)


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
