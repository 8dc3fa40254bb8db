"""One of several processes that share the port of a zone: `python -m mcs_dns.worker`, with three descriptors.

Reads no API: the process that started it, see `workers`, tells it what changes in the zone. Ends when that one does.
"""

import asyncio
import logging
import signal
import socket
import sys
from contextlib import suppress
from dataclasses import replace

import structlog

from mcs_dns.messages import Changes, Report, receive, send
from mcs_dns.server import DnsServer, collect_rarely
from mcs_dns.zone import Zone

_REPORT_SECONDS = 1.0


async def answer(control: socket.socket, datagram: socket.socket, stream: socket.socket) -> None:
    """Answer from the zone that `control` brings, until it ends."""
    reader, writer = await asyncio.open_connection(sock=control)
    first = await receive(reader, Changes)
    if first is None:
        return
    zone = _changed(Zone.empty(first.settings.origin), first)
    async with DnsServer(zone, "", 0, bound=(stream, datagram)) as server:
        server.is_stale = first.is_stale
        reports = asyncio.create_task(_report(server, writer), name="reports")
        try:
            while (changes := await receive(reader, Changes)) is not None:
                server.zone = _changed(server.zone, changes)
                server.is_stale = changes.is_stale
        finally:
            reports.cancel()
            with suppress(asyncio.CancelledError):
                await reports
            writer.close()


def _changed(zone: Zone, changes: Changes) -> Zone:
    if changes.settings != zone.settings:
        zone = replace(zone, settings=changes.settings)
    return replace(zone.with_services(dict(changes.services)), serial=changes.serial, synced=changes.synced)


async def _report(server: DnsServer, writer: asyncio.StreamWriter) -> None:
    """Tell what is answered from, and the counts, at once and every second."""
    while True:
        counts = {" ".join(key): count for key, count in server.counts.items()}
        await send(writer, Report(server.zone.serial, server.zone.synced, counts))
        await asyncio.sleep(_REPORT_SECONDS)


def main(control: str, datagram: str, stream: str) -> None:
    """Run on the given descriptors until the first is closed."""
    # Ctrl-C reaches the whole group; the process that started this one decides when it ends.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    structlog.configure(
        wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )
    collect_rarely()
    sockets = (socket.socket(fileno=int(descriptor)) for descriptor in (control, datagram, stream))
    if sys.platform == "linux":
        import uvloop

        uvloop.run(answer(*sockets))
    else:
        asyncio.run(answer(*sockets))


if __name__ == "__main__":
    main(*sys.argv[1:])
