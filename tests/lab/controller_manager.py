"""kube-controller-manager beside the API server of a ControlPlane, for what its controllers make of objects.

There are no nodes: Deployments get their ReplicaSets and these their Pods, which then wait for a
place, which `tests.real.kubelet` gives them.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tests.lab import binaries
from tests.lab.control_planes import ControlPlane, ControlPlanes, free_ports
from tests.lab.processes import LabProcess

CONTROLLERS = (
    "clusterrole-aggregation-controller",
    "deployment-controller",
    "endpointslice-controller",
    "garbage-collector-controller",
    "namespace-controller",
    "replicaset-controller",
)


@asynccontextmanager
async def controller_manager(planes: ControlPlanes, plane: ControlPlane) -> AsyncIterator[LabProcess]:
    """Those of its controllers that CONTROLLERS names, until the block ends."""
    (port,) = free_ports(1)
    process = LabProcess(
        f"kube-controller-manager {plane.name}",
        (
            str(binaries.built("kube-controller-manager")),
            f"--kubeconfig={plane.kubeconfig()}",
            "--bind-address=127.0.0.1",
            f"--secure-port={port}",
            f"--cert-dir={planes.folder / f'{plane.name}-controller-manager'}",
            "--leader-elect=false",
            f"--controllers={','.join(CONTROLLERS)}",
            # It makes this folder, and would make it in /usr.
            f"--flex-volume-plugin-dir={planes.folder / 'volume-plugins'}",
        ),
        planes.folder / f"{plane.name}-controller-manager.log",
    )
    await process.start()
    try:
        yield process
    finally:
        await process.stop()
