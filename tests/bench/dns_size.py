"""How much memory 100,000 endpoints take in `mcs dns`, and how soon it has read them from a real API server."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.bench.dns_objects import headless_services
from tests.bench.dns_servers import Server, fill, mcs_dns
from tests.bench.figures import Figure, ratio_figure
from tests.lab.control_planes import ControlPlanes

SERVICES = 2000
ENDPOINTS = 50
"""Of each service."""

KILOBYTES_PER_ENDPOINT, SECONDS = 1.5, 10.0
"""What it may take at most, the baselines here."""


async def measure(services: int = SERVICES, endpoints: int = ENDPOINTS) -> Sequence[Figure]:
    """Resident kilobytes an endpoint, above those of an empty zone, and seconds from start to ready."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        async with ControlPlanes(("west",), folder) as planes:
            plane = planes["west"]
            await fill(plane, ())
            async with mcs_dns(plane.kubeconfig(), folder) as server:
                empty, empty_seconds = _resident(server), server.ready_seconds
            await fill(plane, headless_services(services, endpoints))
            async with mcs_dns(plane.kubeconfig(), folder) as server:
                full, seconds = _resident(server), server.ready_seconds
    count = services * endpoints
    title = f"{count:,} endpoints in {services:,} services"
    return [
        ratio_figure(
            f"{title}, resident, against the most",
            (full - empty) / count,
            "KB/endpoint",
            KILOBYTES_PER_ENDPOINT,
        ),
        ratio_figure(f"{title}, start to ready, against the most", seconds, "s", SECONDS),
        ratio_figure("the same, against an empty zone", seconds, "s", empty_seconds),
    ]


def _resident(server: Server) -> int:
    """Kilobytes (1024 bytes) of its one process."""
    (pid,) = server.pids
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS:"))
