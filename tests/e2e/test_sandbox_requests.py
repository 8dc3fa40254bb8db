"""Single requests to the sandbox API server: reads, lists, writes and the refusals that clients rely on."""

import asyncio

import aiohttp
import pytest

from mcs.sandbox.http.server import ApiServer
from tests.e2e.sandbox_client import APPLY, JSON_PATCH, STRATEGIC, TABLE, Client, Json, config_map

MAPS = "/api/v1/namespaces/default/configmaps"
SERVICES = "/api/v1/namespaces/default/services"


async def test_a_fresh_cluster_has_its_namespaces(client: Client) -> None:
    found = await client.get("/api/v1/namespaces")
    names = [item["metadata"]["name"] for item in found["items"]]
    assert names == ["default", "kube-node-lease", "kube-public", "kube-system"]
    assert found["kind"] == "NamespaceList"


async def test_who_has_no_token_is_forbidden_and_who_has_a_wrong_one_unauthorized(server: ApiServer) -> None:
    connector = aiohttp.TCPConnector(ssl=server.client_tls())
    async with aiohttp.ClientSession(connector=connector) as session:
        async with session.get(f"{server.url}{MAPS}") as response:
            assert response.status == 403
            told = (await response.json())["message"]
            assert 'User "system:anonymous" cannot list resource "configmaps"' in told
        async with session.get(
            f"{server.url}{MAPS}", headers={"Authorization": "Bearer guessed"}
        ) as response:
            assert (response.status, (await response.json())["reason"]) == (401, "Unauthorized")
        async with session.get(f"{server.url}/healthz") as response:
            assert await response.text() == "ok"


async def test_a_client_that_does_not_trust_the_authority_is_not_served(server: ApiServer) -> None:
    async with aiohttp.ClientSession() as session:
        with pytest.raises(aiohttp.ClientConnectorCertificateError):
            await session.get(f"{server.url}/healthz")


async def test_missing_things_answer_as_their_kind_of_missing(client: Client) -> None:
    gone = await client.ask("GET", f"{MAPS}/nothing")
    assert gone.reason == (404, "NotFound")
    assert gone.json["message"] == 'configmaps "nothing" not found'
    missing_crd = await client.ask("GET", "/apis/multicluster.x-k8s.io/v1beta1/serviceexports")
    assert (missing_crd.code, missing_crd.content) == (404, b"404 page not found\n")
    assert missing_crd.headers["Content-Type"].startswith("text/plain")
    elsewhere = await client.ask("POST", "/api/v1/namespaces/nowhere/configmaps", config_map("a"))
    assert elsewhere.json["message"] == 'namespaces "nowhere" not found'


async def test_a_stale_version_conflicts_and_a_second_create_exists(client: Client) -> None:
    first = await client.create(MAPS, config_map("a"))
    await client.patch(f"{MAPS}/a", {"data": {"x": "1"}})
    stale = await client.ask("PUT", f"{MAPS}/a", first)
    assert stale.reason == (409, "Conflict")
    assert stale.json["message"].endswith("please apply your changes to the latest version and try again")
    again = await client.ask("POST", MAPS, config_map("a"))
    assert again.reason == (409, "AlreadyExists")


async def test_what_changes_nothing_keeps_its_version(client: Client) -> None:
    created = await client.create(MAPS, config_map("a", {"x": "1"}))
    version = created["metadata"]["resourceVersion"]
    patched = await client.patch(f"{MAPS}/a", {"data": {"x": "1"}})
    assert patched["metadata"]["resourceVersion"] == version
    put = await client.ask("PUT", f"{MAPS}/a", created)
    assert put.json["metadata"]["resourceVersion"] == version


async def test_a_dry_run_answers_and_stores_nothing(server: ApiServer, client: Client) -> None:
    before = server.api.store.revision
    answer = await client.ask("POST", f"{SERVICES}?dryRun=All", _service("web"))
    assert answer.code == 201
    assert answer.json["spec"]["clusterIP"].startswith("10.96.")
    assert server.api.store.revision == before
    assert server.writes() == {}


def _service(name: str, **more: str) -> Json:
    spec = {"selector": {"app": name}, "ports": [{"name": "http", "port": 80}], **more}
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": spec}


async def test_writes_are_counted_by_verb_and_resource(server: ApiServer, client: Client) -> None:
    await client.create(MAPS, config_map("a"))
    await client.patch(f"{MAPS}/a", {"data": {"x": "1"}})
    await client.patch(f"{SERVICES}/web?fieldManager=m", _service("web"), APPLY)
    await client.get(MAPS)
    assert server.writes() == {
        ("create", "configmaps"): 1,
        ("patch", "configmaps"): 1,
        ("patch", "services"): 1,
    }
    assert server.requests["list", "configmaps"] == 1


async def test_apply_creates_owns_conflicts_and_takes_over(client: Client) -> None:
    path = f"{MAPS}/a?fieldManager="
    created = await client.ask("PATCH", path + "one", config_map("a", {"x": "1"}), APPLY)
    assert created.code == 201
    refused = await client.ask("PATCH", path + "two", config_map("a", {"x": "2"}), APPLY)
    assert refused.reason == (409, "Conflict")
    assert refused.json["details"]["causes"] == [
        {"reason": "FieldManagerConflict", "message": 'conflict with "one"', "field": ".data.x"}
    ]
    taken = await client.patch(f"{path}two&force=true", config_map("a", {"x": "2"}), APPLY)
    managers = [(m["manager"], m["operation"]) for m in taken["metadata"]["managedFields"]]
    assert managers == [("two", "Apply")]
    dropped = await client.patch(path + "two", config_map("a"), APPLY)
    assert not dropped.get("data")


async def test_strict_warned_and_ignored_unknown_fields(client: Client) -> None:
    odd = {**config_map("a"), "dota": {}}
    strict = await client.ask("POST", f"{MAPS}?fieldValidation=Strict", odd)
    assert strict.reason == (400, "BadRequest")
    assert 'strict decoding error: unknown field "dota"' in strict.json["message"]
    warned = await client.ask("POST", MAPS, odd)
    assert warned.code == 201
    assert warned.headers["Warning"] == '299 - "unknown field \\"dota\\""'
    assert "dota" not in warned.json
    quiet = await client.ask("PUT", f"{MAPS}/a?fieldValidation=Ignore", odd)
    assert "Warning" not in quiet.headers


@pytest.mark.parametrize(
    ("body", "content", "code", "reason"),
    [
        (b"{nonsense", "application/json", 400, "BadRequest"),
        (b"k8s\0...", "application/vnd.kubernetes.protobuf", 415, "UnsupportedMediaType"),
        (b"x", "text/plain", 415, "UnsupportedMediaType"),
        (
            b'{"kind":"Secret","apiVersion":"v1","metadata":{"name":"a"}}',
            "application/json",
            400,
            "BadRequest",
        ),
        (b'{"metadata":{"name":"Not A Name"}}', "application/json", 422, "Invalid"),
        (b'{"metadata":{}}', "application/json", 422, "Invalid"),
        (b'{"metadata":{"name":"a"},"data":[]}', "application/json", 400, "BadRequest"),
        (b'{"metadata":{"name":"a","namespace":"other"}}', "application/json", 400, "BadRequest"),
    ],
)
async def test_bad_bodies(client: Client, body: bytes, content: str, code: int, reason: str) -> None:
    answer = await client.ask("POST", MAPS, body, content)
    assert answer.reason == (code, reason)


async def test_methods_a_path_does_not_have(client: Client) -> None:
    assert (await client.ask("POST", "/api/v1/configmaps", config_map("a"))).code == 405
    assert (await client.ask("PUT", MAPS, config_map("a"))).code == 405
    assert (await client.ask("DELETE", "/api/v1/namespaces")).code == 405


async def test_json_and_strategic_patches(client: Client) -> None:
    await client.create(SERVICES, _service("web"))
    ports = [{"port": 443, "name": "https"}]
    merged = await client.patch(f"{SERVICES}/web", {"spec": {"ports": ports}}, STRATEGIC)
    assert sorted(port["port"] for port in merged["spec"]["ports"]) == [80, 443]
    operations = [
        {"op": "test", "path": "/spec/selector/app", "value": "web"},
        {"op": "replace", "path": "/spec/selector/app", "value": "new"},
    ]
    replaced = await client.patch(f"{SERVICES}/web", operations, JSON_PATCH)
    assert replaced["spec"]["selector"] == {"app": "new"}
    assert (await client.ask("PATCH", f"{SERVICES}/web", operations, JSON_PATCH)).reason == (422, "Invalid")
    assert (await client.ask("PATCH", f"{SERVICES}/web", {}, "application/json")).code == 415


async def test_chunks_show_one_moment_even_while_objects_change(server: ApiServer, client: Client) -> None:
    for name in "abcde":
        await client.create(MAPS, config_map(name))
    first = await client.get(f"{MAPS}?limit=2")
    assert first["metadata"]["remainingItemCount"] == 3
    await client.ask("DELETE", f"{MAPS}/d")
    await client.create(MAPS, config_map("cc"))
    token = first["metadata"]["continue"]
    rest = await client.get(f"{MAPS}?limit=10&continue={token}")
    assert [item["metadata"]["name"] for item in rest["items"]] == ["c", "d", "e"]
    assert rest["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]

    server.compact()
    late = await client.ask("GET", f"{MAPS}?limit=10&continue={token}")
    assert late.reason == (410, "Expired")
    onward = late.json["metadata"]["continue"]
    present = await client.get(f"{MAPS}?continue={onward}")
    assert [item["metadata"]["name"] for item in present["items"]] == ["c", "cc", "e"]


async def test_versions_of_a_list(server: ApiServer, client: Client) -> None:
    created = await client.create(MAPS, config_map("a"))
    version = created["metadata"]["resourceVersion"]
    await client.ask("DELETE", f"{MAPS}/a")
    exact = await client.get(f"{MAPS}?resourceVersion={version}&resourceVersionMatch=Exact")
    assert [item["metadata"]["name"] for item in exact["items"]] == ["a"]
    fresh = await client.get(f"{MAPS}?resourceVersion={version}&resourceVersionMatch=NotOlderThan")
    assert fresh["items"] == []
    future = await client.ask("GET", f"{MAPS}?resourceVersion=99999")
    assert future.reason == (504, "Timeout")
    assert future.headers["Retry-After"] == "1"
    assert future.json["details"]["causes"][0]["reason"] == "ResourceVersionTooLarge"
    server.compact()
    old = await client.ask("GET", f"{MAPS}?resourceVersion=2&resourceVersionMatch=Exact")
    assert old.reason == (410, "Expired")
    alone = await client.ask("GET", f"{MAPS}?resourceVersionMatch=Exact")
    assert alone.reason == (422, "Invalid")


async def test_selectors_choose_what_is_listed_and_deleted(client: Client) -> None:
    for name, tier in (("a", "front"), ("b", "back"), ("c", "front")):
        await client.create(MAPS, config_map(name, tier=tier))
    front = await client.get(f"{MAPS}?labelSelector=tier%20in%20(front)")
    assert [item["metadata"]["name"] for item in front["items"]] == ["a", "c"]
    one = await client.get(f"{MAPS}?fieldSelector=metadata.name%3Db")
    assert [item["metadata"]["name"] for item in one["items"]] == ["b"]
    deleted = await client.ask("DELETE", f"{MAPS}?labelSelector=tier=front")
    assert deleted.json["kind"] == "ConfigMapList"
    left = await client.get(MAPS)
    assert [item["metadata"]["name"] for item in left["items"]] == ["b"]


async def test_finalizers_hold_an_object_until_the_last_one_goes(client: Client) -> None:
    held = config_map("a")
    held["metadata"]["finalizers"] = ["example.org/hold"]
    created = await client.create(MAPS, held)
    wrong = await client.ask("DELETE", f"{MAPS}/a", {"preconditions": {"uid": "other"}})
    assert wrong.reason == (409, "Conflict")
    marked = await client.ask("DELETE", f"{MAPS}/a", {"preconditions": {"uid": created["metadata"]["uid"]}})
    assert marked.code == 200
    assert marked.json["metadata"]["deletionTimestamp"]
    added = await client.ask(
        "PATCH",
        f"{MAPS}/a",
        {"metadata": {"finalizers": ["example.org/more"]}},
        "application/merge-patch+json",
    )
    assert added.reason == (422, "Invalid")
    released = await client.patch(f"{MAPS}/a", {"metadata": {"finalizers": None}})
    assert released["metadata"]["name"] == "a"
    assert (await client.ask("GET", f"{MAPS}/a")).code == 404


async def test_a_table_shows_columns_and_partial_objects(client: Client) -> None:
    await client.create(SERVICES, _service("web"))
    table = await client.get(SERVICES, Accept=TABLE)
    assert table["kind"] == "Table"
    names = [column["name"] for column in table["columnDefinitions"]]
    assert names[:4] == ["Name", "Type", "Cluster-IP", "External-IP"]
    assert table["rows"][0]["cells"][0] == "web"
    assert table["rows"][0]["object"]["kind"] == "PartialObjectMetadata"
    accept = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
    partial = await client.get(SERVICES, Accept=accept)
    assert partial["kind"] == "PartialObjectMetadataList"
    assert set(partial["items"][0]) == {"kind", "apiVersion", "metadata"}
    assert (await client.ask("GET", SERVICES, Accept="application/xml")).code == 406


async def test_scale_reads_and_writes_replicas(client: Client) -> None:
    path = "/apis/apps/v1/namespaces/default/deployments"
    template = {
        "metadata": {"labels": {"app": "web"}},
        "spec": {"containers": [{"name": "c", "image": "c:1"}]},
    }
    spec = {"replicas": 2, "selector": {"matchLabels": {"app": "web"}}, "template": template}
    body = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec}
    await client.create(path, body)
    scale = await client.get(f"{path}/web/scale")
    assert (scale["kind"], scale["spec"]["replicas"]) == ("Scale", 2)
    assert scale["status"]["selector"] == "app=web"
    scaled = await client.patch(f"{path}/web/scale", {"spec": {"replicas": 5}})
    assert scaled["kind"] == "Scale"
    deployment = await client.get(f"{path}/web")
    assert (deployment["spec"]["replicas"], deployment["metadata"]["generation"]) == (5, 2)


async def test_status_and_spec_are_written_apart(client: Client) -> None:
    balanced = {"loadBalancer": {"ingress": [{"ip": "192.0.2.4"}]}}
    body = _service("web", type="LoadBalancer")
    created = await client.create(SERVICES, {**body, "status": balanced})
    assert created["status"] == {"loadBalancer": {}}
    change = {"spec": {"selector": {"app": "x"}}, "status": balanced}
    told = await client.patch(f"{SERVICES}/web/status", change)
    assert told["spec"]["selector"] == {"app": "web"}
    assert told["status"]["loadBalancer"]["ingress"][0]["ip"] == "192.0.2.4"


async def test_restart_keeps_objects_port_and_token(server: ApiServer) -> None:
    port = server.port
    async with Client(server) as client:
        await client.create(MAPS, config_map("a"))
    await server.stop()
    async with Client(server) as client:
        with pytest.raises(aiohttp.ClientConnectorError):
            await client.get(MAPS)
        await server.start()
        assert server.port == port
        found = await client.get(MAPS)
    assert [item["metadata"]["name"] for item in found["items"]] == ["a"]


async def test_two_servers_share_nothing() -> None:
    async with ApiServer("east") as east, ApiServer("west") as west:
        async with Client(east) as in_east, Client(west) as in_west:
            await in_east.create(MAPS, config_map("a"))
            assert (await in_west.get(MAPS))["items"] == []
        assert east.port != west.port


async def test_requests_at_once_do_not_lose_updates(client: Client) -> None:
    await client.create(MAPS, config_map("a"))
    keys = [f"k{number}" for number in range(20)]
    await asyncio.gather(*(client.patch(f"{MAPS}/a", {"data": {key: "x"}}) for key in keys))
    assert sorted((await client.get(f"{MAPS}/a"))["data"]) == sorted(keys)
