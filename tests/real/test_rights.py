"""The rights that the README asks for are enough: RBAC of a real API server judges."""

from __future__ import annotations

import re
import textwrap
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import yaml

from mcs.model.clusters import CLUSTER_ID_PROPERTY, CLUSTERSET_PROPERTY
from tests.lab.control_planes import ControlPlanes, free_ports
from tests.lab.kubectl import Kubectl
from tests.lab.mcs import dig, eventually, rcode, running
from tests.lab.rights import README, USERS, roles_of_the_readme
from tests.real.handwritten import WEB, exports_of


@asynccontextmanager
async def granted(kubectl: Kubectl, roles: str) -> AsyncIterator[None]:
    """The roles, bound to the users of the lab that our programs run as, until the block ends."""
    names = [role["metadata"]["name"] for role in yaml.safe_load_all(roles)]
    await kubectl("apply", "-f", "-", stdin=roles)
    for name in names:
        await kubectl("create", "clusterrolebinding", name, f"--clusterrole={name}", f"--user={USERS[name]}")
    try:
        yield
    finally:
        await kubectl("delete", "clusterrole,clusterrolebinding", *names)


async def test_the_rights_of_the_readme_suffice_for_an_export_to_come_answer_and_go(
    planes: ControlPlanes, kubectl_for: Callable[[str], Kubectl], namespace: str, tmp_path: Path
) -> None:
    east, west = kubectl_for("east"), kubectl_for("west")
    web = f"web.{namespace}.svc.clusterset.local"
    dns_port, *metrics = free_ports(3)
    kubeconfig = {user: str(planes.kubeconfig(user)) for user in USERS.values()}
    controller = (
        "controller",
        "--kubeconfig",
        kubeconfig["controller"],
        "--cluster",
        "east",
        "--cluster",
        "west",
    )
    dns = ("dns", "--kubeconfig", kubeconfig["dns"], "--context", "west", "--listen", f"127.0.0.1:{dns_port}")
    await east("apply", "--namespace", namespace, "-f", "-", stdin=f"{WEB}---{exports_of('web')}")
    async with (
        granted(east, roles_of_the_readme()),
        granted(west, roles_of_the_readme()),
        running(
            "controller", *controller, "--metrics-listen", f"127.0.0.1:{metrics[0]}", folder=tmp_path
        ) as one,
        running("dns", *dns, "--metrics-listen", f"127.0.0.1:{metrics[1]}", folder=tmp_path) as other,
    ):

        async def conditions() -> str:
            path = "jsonpath={.status.conditions[*].status}"
            return await east("get", "svcex", "web", "--namespace", namespace, "-o", path)

        async def exported() -> bool:
            return await conditions() == "True True False"

        async def mirrors() -> str:
            chosen = "multicluster.kubernetes.io/service-name=web"
            kinds = "svcim,services,endpointslices"
            return await west("get", kinds, "--namespace", namespace, "-l", chosen, "-o", "name")

        await eventually("the export is Valid, Ready and without Conflict", exported)
        await eventually("its name answers", lambda: dig(dns_port, web, "A"))
        assert len((await mirrors()).split()) == 2
        await east("delete", "svcex", "web", "--namespace", namespace)

        async def gone() -> bool:
            return await rcode(dns_port, web, "A") == "NXDOMAIN" and not await mirrors()

        await eventually("name, derived Service and mirror go with the export", gone)
        for process in (one, other):
            assert not re.search("forbidden", process.log.read_text(), re.IGNORECASE), process.log_tail()


async def test_an_api_server_takes_what_the_readme_has_a_cluster_say_of_itself(
    installed_crds: None, kubectl_for: Callable[[str], Kubectl]
) -> None:
    (manifest,) = re.findall(r"apply -f - <<END\n(.*?)  END\n", README.read_text(), re.DOTALL)
    names = {each["metadata"]["name"] for each in yaml.safe_load_all(textwrap.dedent(manifest))}
    assert names == {CLUSTER_ID_PROPERTY, CLUSTERSET_PROPERTY}
    east = kubectl_for("east")
    taken = await east("apply", "--dry-run=server", "-f", "-", stdin=textwrap.dedent(manifest))
    assert len(taken.splitlines()) == len(names)
