"""The client against a server that answers what each test says: what is asked, and what becomes of the answer."""

import asyncio
import json
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest
import trustme
import uvloop
from aiohttp import web

from mcs.kube import errors
from mcs.kube.client import Client
from mcs.kube.decode import Bookmark, Deleted, Stored
from mcs.model.meta import ObjectMeta
from mcs.model.names import FIELD_MANAGER
from mcs.model.resources import ENDPOINT_SLICES, NAMESPACES, SERVICE_EXPORTS, SERVICES
from mcs.model.services import Service, ServicePort, ServiceSpec
from mcs.testing.virtual_time import run_virtual
from tests.e2e.scripted_api import Handler, client_of, kubeconfig, line, served, service, status


def seconds() -> float:
    return asyncio.get_running_loop().time()


def streamed(*parts: bytes | float, keep_open: bool = False) -> Handler:
    """A handler that sends bytes and waits for numbers of seconds in between."""

    async def handler(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        for part in parts:
            if isinstance(part, bytes):
                await response.write(part)
            else:
                await asyncio.sleep(part)
        if keep_open:
            await asyncio.Event().wait()
        return response

    return handler


async def watched(client: Client, version: str = "5") -> list[Any]:
    async with aclosing(client.watch(SERVICES, version)) as events:
        return [event async for event in events]


def test_a_list_is_read_page_by_page(tmp_path: Path) -> None:
    asked: list[dict[str, str]] = []

    async def handler(request: web.Request) -> web.Response:
        asked.append(dict(request.query))
        last = "continue" in request.query
        bad = service("broken", ports=7)
        return web.json_response(
            {
                "metadata": {"resourceVersion": "40", "continue": "" if last else "a+/="},
                "items": [service("db")] if last else [service("web"), bad],
            }
        )

    async def main() -> None:
        async with served(handler) as url, client_of(kubeconfig(tmp_path, url)) as client:
            pages = [p async for p in client.list_pages(SERVICES, label_selector="a=b,c!=d", limit=2)]
        assert [[item.metadata.name for item in page.items] for page in pages] == [["web"], ["db"]]
        assert [page.resource_version for page in pages] == ["40", "40"]
        assert [bad.name for page in pages for bad in page.malformed] == ["broken"]
        assert asked == [
            {"limit": "2", "labelSelector": "a=b,c!=d"},
            {"limit": "2", "labelSelector": "a=b,c!=d", "continue": "a+/="},
        ]

    run_virtual(main())


def test_a_watch_asks_for_bookmarks_and_an_end(tmp_path: Path) -> None:
    asked: list[tuple[str, dict[str, str]]] = []

    async def handler(request: web.Request) -> web.Response:
        asked.append((request.path, dict(request.query)))
        return web.Response()

    async def main() -> None:
        async with served(handler) as url, client_of(kubeconfig(tmp_path, url)) as client:
            watch = client.watch(ENDPOINT_SLICES, "7", label_selector="x", timeout_seconds=301)
            assert [event async for event in watch] == []

    run_virtual(main())
    query = {"watch": "true", "resourceVersion": "7", "allowWatchBookmarks": "true", "timeoutSeconds": "301"}
    assert asked == [("/apis/discovery.k8s.io/v1/endpointslices", {**query, "labelSelector": "x"})]


def test_lines_are_found_however_they_are_cut(tmp_path: Path) -> None:
    long = line("ADDED", service("big", "9", clusterIP="x" * 3_000_000))
    text = b"".join(
        [
            line("ADDED", service("web", "6")),
            b"\n",
            line("DELETED", service("web", "7")),
            line("BOOKMARK", {"metadata": {"resourceVersion": "8"}}),
            long,
        ]
    )
    for cut in (1, 60, len(text) - len(long), len(text) - len(long) + 1, len(text) - 1):

        async def main(cut: int = cut) -> list[Any]:
            handler = streamed(text[:cut], 0.1, text[cut:])
            async with served(handler) as url, client_of(kubeconfig(tmp_path, url)) as client:
                return await watched(client)

        added, deleted, bookmark, big = run_virtual(main())
        assert (deleted, bookmark) == (Deleted("shop", "web", "7"), Bookmark("8"))
        assert (added.object.metadata.name, len(big.object.spec.cluster_ip)) == ("web", 3_000_000)


def test_a_watch_is_open_before_anything_happens_and_an_event_comes_before_the_next_is_sent(
    tmp_path: Path,
) -> None:
    async def main() -> list[float]:
        handler = streamed(5.0, line("ADDED", service("a")), 20.0, line("ADDED", service("b")))
        async with served(handler) as url, client_of(kubeconfig(tmp_path, url)) as client:
            began, opened = seconds(), list[float]()
            watch = client.watch(SERVICES, "5", on_opened=lambda: opened.append(round(seconds() - began)))
            return opened + [round(seconds() - began) async for _ in watch]

    assert run_virtual(main()) == [0, 5, 25]


def test_a_line_that_was_not_finished_is_no_event(tmp_path: Path) -> None:
    async def main() -> list[Any]:
        whole = line("ADDED", service("web"))
        async with served(streamed(whole, whole[:-9])) as url, client_of(kubeconfig(tmp_path, url)) as client:
            return await watched(client)

    assert len(run_virtual(main())) == 1


def test_history_that_is_gone_is_an_error_in_both_its_forms(tmp_path: Path) -> None:
    gone = {"kind": "Status", "code": 410, "reason": "Expired"}

    async def as_status(request: web.Request) -> web.Response:
        return status(410, "Expired")

    for handler in (as_status, streamed(line("ADDED", service("web")), line("ERROR", gone), keep_open=True)):

        async def main(handler: Handler = handler) -> None:
            async with served(handler) as url, client_of(kubeconfig(tmp_path, url)) as client:
                with pytest.raises(errors.Expired):
                    await watched(client)

        run_virtual(main())


def test_a_silent_watch_ends_after_90_seconds(tmp_path: Path) -> None:
    async def main() -> float:
        handler = streamed(line("ADDED", service("web")), keep_open=True)
        async with served(handler) as url, client_of(kubeconfig(tmp_path, url)) as client:
            started = seconds()
            with pytest.raises(errors.WatchSilent, match="east: silent for 90 s"):
                await watched(client)
            return seconds() - started

    assert 90 <= run_virtual(main()) <= 91


def test_bookmarks_keep_a_watch_alive(tmp_path: Path) -> None:
    bookmark = line("BOOKMARK", {"metadata": {"resourceVersion": "8"}})

    async def main() -> list[Any]:
        minutes: list[bytes | float] = [60.0, bookmark]
        async with served(streamed(*minutes * 10)) as url, client_of(kubeconfig(tmp_path, url)) as client:
            return await watched(client)

    assert run_virtual(main()) == [Bookmark("8")] * 10


def test_a_watch_that_breaks_off_is_unreachable(tmp_path: Path) -> None:
    async def handler(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(line("ADDED", service("web")))
        assert request.transport is not None
        request.transport.abort()
        return response

    async def main() -> None:
        async with served(handler) as url, client_of(kubeconfig(tmp_path, url)) as client:
            with pytest.raises(errors.Unreachable, match="network") as raised:
                await watched(client)
            assert not isinstance(raised.value, errors.WatchSilent)

    run_virtual(main())


def test_a_request_without_answer_ends_after_30_seconds(tmp_path: Path) -> None:
    async def main() -> float:
        handler = streamed(b"{", keep_open=True)
        async with served(handler) as url, client_of(kubeconfig(tmp_path, url)) as client:
            started = seconds()
            with pytest.raises(errors.Unreachable, match="east: no answer within 30 s"):
                await client.get(SERVICES, "shop", "web")
            return seconds() - started

    assert 30 <= run_virtual(main()) <= 31


def test_nobody_listening_is_unreachable(tmp_path: Path) -> None:
    async def main() -> None:
        async with served(streamed()) as url:
            pass
        async with client_of(kubeconfig(tmp_path, url)) as client:
            with pytest.raises(errors.Unreachable, match=r"east: network: .*127\.0\.0\.1"):
                await client.get(SERVICES, "shop", "web")

    run_virtual(main())


def test_an_apply_sends_our_fields_under_our_name(tmp_path: Path) -> None:
    seen: list[Any] = []

    async def handler(request: web.Request) -> web.Response:
        seen.append((request.method, request.path_qs, request.content_type, await request.json()))
        return web.json_response(service("web", "9", clusterIP="10.0.0.1"))

    obj = Service(
        metadata=ObjectMeta(namespace="shop", name="web", uid="u", resource_version="3"),
        spec=ServiceSpec(ports=(ServicePort(port=80),)),
    )

    async def main() -> Service:
        async with served(handler) as url, client_of(kubeconfig(tmp_path, url)) as client:
            await client.apply(SERVICES, obj, force=False)
            return await client.apply(SERVICES, obj)

    assert run_virtual(main()).spec.cluster_ip == "10.0.0.1"
    path = f"/api/v1/namespaces/shop/services/web?fieldManager={FIELD_MANAGER}&force="
    body = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"namespace": "shop", "name": "web"},
        "spec": {"ports": [{"port": 80}]},
    }
    assert seen == [
        ("PATCH", f"{path}{force}", "application/apply-patch+yaml", body) for force in ("false", "true")
    ]


def test_a_delete_is_of_what_was_seen_and_may_come_late(tmp_path: Path) -> None:
    seen: list[Any] = []
    answers = [web.json_response({}), status(404, "NotFound"), status(409, "Conflict")]

    async def handler(request: web.Request) -> web.Response:
        seen.append((request.method, request.path, json.loads(await request.read())))
        return answers[len(seen) - 1]

    async def main() -> None:
        async with served(handler) as url, client_of(kubeconfig(tmp_path, url)) as client:
            await client.delete(SERVICES, "shop", "web", uid="u", resource_version="3")
            await client.delete(NAMESPACES, "", "shop")
            with pytest.raises(errors.Conflict):
                await client.delete(SERVICES, "shop", "web", uid="u", resource_version="3")

    run_virtual(main())
    options = {"propagationPolicy": "Background", "preconditions": {"uid": "u", "resourceVersion": "3"}}
    web_path = "/api/v1/namespaces/shop/services/web"
    assert seen == [
        ("DELETE", web_path, options),
        ("DELETE", "/api/v1/namespaces/shop", {"propagationPolicy": "Background"}),
        ("DELETE", web_path, options),
    ]


def test_a_missing_crd_is_not_a_missing_object(tmp_path: Path) -> None:
    async def handler(request: web.Request) -> web.Response:
        if "multicluster" in request.path:
            return web.Response(status=404, text="404 page not found\n")
        return status(404, "NotFound")

    async def main() -> None:
        async with served(handler) as url, client_of(kubeconfig(tmp_path, url)) as client:
            with pytest.raises(errors.ResourceMissing):
                await client.get(SERVICE_EXPORTS, "shop", "web")
            with pytest.raises(errors.NotFound):
                await client.get(SERVICES, "shop", "web")
            with pytest.raises(errors.ResourceMissing):
                await client.delete(SERVICE_EXPORTS, "shop", "web")

    run_virtual(main())


@pytest.mark.parametrize(
    ("namespace", "name"),
    [
        ("shop", ""),
        ("shop", "."),
        ("shop", ".."),
        ("shop", "../../kube-system"),
        ("", "web"),
        ("shop", "a%2fb"),
    ],
)
def test_a_name_that_means_something_else_is_never_sent(tmp_path: Path, namespace: str, name: str) -> None:
    seen: list[str] = []

    async def handler(request: web.Request) -> web.Response:
        seen.append(request.path)
        return web.json_response(service("web"))

    async def main() -> None:
        async with served(handler) as url, client_of(kubeconfig(tmp_path, url)) as client:
            obj = Service(metadata=ObjectMeta(namespace=namespace, name=name))
            for attempt in (
                client.get(SERVICES, namespace, name),
                client.delete(SERVICES, namespace, name),
                client.patch(SERVICES, namespace, name, {}),
                client.apply(SERVICES, obj),
                client.create(SERVICES, obj),
            ):
                with pytest.raises(errors.Invalid, match="cannot name an object"):
                    await attempt

    run_virtual(main())
    assert seen == []


def test_names_cannot_leave_their_path(tmp_path: Path) -> None:
    async def handler(request: web.Request) -> web.Response:
        return web.json_response(service(request.raw_path))

    async def main() -> str:
        async with served(handler) as url, client_of(kubeconfig(tmp_path, url)) as client:
            return (await client.get(SERVICES, "shop", "a?watch=true#b c")).metadata.name

    assert run_virtual(main()) == "/api/v1/namespaces/shop/services/a%3Fwatch%3Dtrue%23b%20c"


def test_every_request_is_counted_with_its_code_and_time(tmp_path: Path) -> None:
    told: list[tuple[str, str, int, int]] = []

    async def handler(request: web.Request) -> web.StreamResponse:
        if request.query.get("watch"):
            return await streamed(30.0, line("ADDED", service("web")))(request)
        await asyncio.sleep(40 if request.path.endswith("slow") else 2)
        return status(404, "NotFound") if "none" in request.path else web.json_response(service("web"))

    async def main() -> None:
        def hook(verb: str, resource: str, code: int, took: float) -> None:
            told.append((verb, resource, code, round(took)))

        async with served(handler) as url, client_of(kubeconfig(tmp_path, url), hook) as client:
            await client.get(SERVICES, "shop", "web")
            await client.delete(SERVICES, "shop", "none")
            await watched(client)
            with pytest.raises(errors.Unreachable):
                await client.get(SERVICES, "shop", "slow")

    run_virtual(main())
    assert told == [
        ("get", "services", 200, 2),
        ("delete", "services", 404, 2),
        ("watch", "services", 200, 0),
        ("get", "services", 0, 30),
    ]


def test_it_works_over_tls_on_uvloop(tmp_path: Path) -> None:
    import ssl

    authority = trustme.CA()
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(tls)
    authority.cert_pem.write_to_path(tmp_path / "ca.crt")

    async def handler(request: web.Request) -> web.StreamResponse:
        assert request.headers["Authorization"] == "Bearer secret"
        if request.query.get("watch"):
            return await streamed(line("ADDED", service("web")), keep_open=True)(request)
        return web.json_response(service("web"))

    async def main() -> None:
        async with served(handler, tls) as url:
            file = kubeconfig(tmp_path, url, cluster={"certificate-authority": "ca.crt"})
            async with client_of(file) as client:
                objects = await asyncio.gather(*(client.get(SERVICES, "shop", "web") for _ in range(200)))
                assert len(objects) == 200
                async with aclosing(client.watch(SERVICES, "5")) as events:
                    async for event in events:
                        assert isinstance(event, Stored)
                        break

    uvloop.run(main())
