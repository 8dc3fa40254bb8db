"""In the mesh shape no cluster depends on another: with one wholly gone, names in the others follow the rest."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path

from tests.lab.control_planes import ControlPlanes, free_ports
from tests.lab.mcs import dig, eventually, running
from tests.real.chaos.api import AdminApi

NAMES = ("hub", "second", "third")
HOME = {name: f"10.{61 + index}.0" for index, name in enumerate(NAMES)}


async def serve(api: AdminApi, *hosts: int) -> None:
    """Let the service have these endpoints in a cluster."""
    ready = [f"{HOME[api.cluster]}.{host}" for host in hosts]
    await api.apply({"EndpointSlice": "shop/web-1", "service": "web", "ports": ["http 80"], "ready": ready})


async def test_names_follow_the_other_clusters_while_the_one_that_would_be_the_hub_is_gone(
    tmp_path: Path,
) -> None:
    async with AsyncExitStack() as stack:
        planes = await stack.enter_async_context(ControlPlanes(NAMES))
        apis = {name: await stack.enter_async_context(AdminApi(planes[name])) for name in NAMES}
        for api in apis.values():
            await api.install_crds()
            await api.apply({"Namespace": "shop"})
            await api.apply({"Service": "shop/web", "ports": ["http 80"], "headless": True})
            await serve(api, 1)
            await api.apply({"ServiceExport": "shop/web"})
        kubeconfig = ("--kubeconfig", str(planes.kubeconfig()))
        members = [f"--cluster={name}" for name in NAMES]
        *metrics, dns_port, dns_metrics = free_ports(len(NAMES) + 2)
        controllers = {
            name: await stack.enter_async_context(
                running(
                    f"controller of {name}",
                    "controller",
                    *(*kubeconfig, *members, "--targets", "self", "--self", name),
                    *("--metrics-listen", f"127.0.0.1:{port}"),
                    folder=tmp_path,
                )
            )
            for name, port in zip(NAMES, metrics, strict=True)
        }
        listen = ("--listen", f"127.0.0.1:{dns_port}", "--metrics-listen", f"127.0.0.1:{dns_metrics}")
        await stack.enter_async_context(
            running("dns", "dns", *kubeconfig, "--context", "second", *listen, folder=tmp_path)
        )

        async def answered(what: str, *addresses: str) -> None:
            expected: Sequence[str] = sorted(addresses)

            async def is_so() -> bool:
                return await dig(dns_port, "web.shop.svc.clusterset.local", "A") == expected

            await eventually(what, is_so)

        hub = f"{HOME['hub']}.1"
        await answered("all three are answered", hub, f"{HOME['second']}.1", f"{HOME['third']}.1")
        await controllers["hub"].kill()
        await planes["hub"].kill()

        await serve(apis["second"], 1, 2)
        await serve(apis["third"], 3)
        second, third = (f"{HOME['second']}.1", f"{HOME['second']}.2"), f"{HOME['third']}.3"
        await answered("the other two are followed, and the hub's endpoints stay", hub, *second, third)
        await serve(apis["second"], 2)
        await answered("one goes", hub, second[1], third)
