"""Sending a watch over HTTP: one JSON line per event until its time is over, the client leaves or someone drops it.

Source: Kubernetes API concepts, "Efficient detection of changes". What the events are is decided in
`watching`.
"""

import asyncio

import msgspec
from aiohttp import web

from mcs.sandbox.http.watching import Event, Watch

BOOKMARK_EVERY = 60.0
"""Seconds between bookmarks for a client that asked for them."""


async def send_watch(
    request: web.Request, watch: Watch, timeout: float, *, bookmarks: bool
) -> web.StreamResponse:
    """Send the events of a watch for `timeout` seconds of the loop's clock, or until the client leaves."""
    clock = asyncio.get_running_loop().time
    ends = clock() + timeout
    stop = watch.start()
    try:
        opening = list(watch.opening())
        response = web.StreamResponse(
            headers={"Content-Type": "application/json", "Cache-Control": "no-cache, private"}
        )
        await response.prepare(request)
        await _send(response, opening)
        if opening and opening[-1]["type"] == "ERROR":
            return response
        while (left := ends - clock()) > 0:
            try:
                async with asyncio.timeout(min(left, BOOKMARK_EVERY)):
                    change = await watch.changes.get()
            except TimeoutError:
                if bookmarks:
                    await _send(response, [watch.bookmark()])
                continue
            if change is None:
                break
            await _send(response, list(watch.following(change)))
    except ConnectionError:
        pass
    finally:
        stop()
    return response


async def _send(response: web.StreamResponse, events: list[Event]) -> None:
    if events:
        await response.write(b"".join(msgspec.json.encode(event) + b"\n" for event in events))
