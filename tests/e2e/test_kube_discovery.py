"""Discovery and schemas as API servers tell them, and what is made of those that tell less."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from aiohttp import web

from mcs.kube.discovery import discovered, has_replicas
from mcs.kube.errors import Forbidden
from mcs.model.discovery import ServedKind
from tests.e2e.scripted_api import client_to


def answered(document: Any, status: int = 200) -> web.Response:
    return web.Response(
        body=msgspec.json.encode(document), status=status, headers={"Content-Type": "application/json"}
    )


def group(name: str, preferred: str, *versions: str) -> dict[str, Any]:
    return {
        "name": name,
        "versions": [{"groupVersion": f"{name}/{version}", "version": version} for version in versions],
        "preferredVersion": {"groupVersion": f"{name}/{preferred}", "version": preferred},
    }


def resources(group_version: str, *names: str) -> dict[str, Any]:
    return {
        "groupVersion": group_version,
        "resources": [
            {"name": name, "kind": name.partition("/")[0].title(), "namespaced": True, "verbs": ["get"]}
            for name in names
        ],
    }


async def test_a_group_whose_server_is_down_hides_no_other_and_the_preferred_version_comes_first(
    tmp_path: Path,
) -> None:
    documents = {
        "/apis": {"groups": [group("a.test", "v1", "v2alpha1", "v1"), group("down.test", "v1", "v1")]},
        "/api/v1": resources("v1", "pods", "pods/log"),
        "/apis/a.test/v1": resources("a.test/v1", "apples", "apples/scale"),
        "/apis/a.test/v2alpha1": resources("a.test/v2alpha1", "apples", "pears"),
    }

    async def answer(request: web.BaseRequest) -> web.Response:
        found = documents.get(request.path)
        return answered(found) if found else answered({"kind": "Status", "status": "Failure"}, 503)

    async with client_to(tmp_path, answer) as client:
        found = await discovered(client.connection)
    assert found.silent == ("down.test/v1",)
    assert [(each.name, each.version) for each in found.kinds] == [
        ("pods", "v1"), ("apples.a.test", "v1"), ("apples.a.test", "v2alpha1"), ("pears.a.test", "v2alpha1"),
    ]  # fmt: skip
    assert found.kinds[1].subresources == {"scale"}
    assert found.kinds[0].verbs == {"get"}


async def test_who_may_not_ask_is_told_so_instead_of_seeing_no_kinds(tmp_path: Path) -> None:
    async def answer(request: web.BaseRequest) -> web.Response:
        if request.path == "/apis":
            return answered({"groups": []})
        return answered({"kind": "Status", "status": "Failure", "reason": "Forbidden", "code": 403}, 403)

    async with client_to(tmp_path, answer) as client:
        with pytest.raises(Forbidden):
            await discovered(client.connection)


def schema(replicas: dict[str, Any], *, referred: bool) -> dict[str, Any]:
    spec = {"properties": {"replicas": replicas}}
    kinds = [{"group": "a.test", "version": "v1", "kind": "Apple"}]
    said = {"allOf": [{"$ref": "#/components/schemas/Spec"}]} if referred else spec
    schemas = {
        "Apple": {"properties": {"spec": said}, "x-kubernetes-group-version-kind": kinds},
        "Spec": spec,
    }
    return {"components": {"schemas": schemas}}


INT32 = {"type": "integer", "format": "int32"}


@pytest.mark.parametrize(
    ("document", "scales", "expected"),
    [
        (schema(INT32, referred=False), False, True),
        (schema(INT32, referred=True), False, True),
        (schema({"type": "integer", "format": "int64"}, referred=False), True, False),
        (schema({"type": "string"}, referred=False), True, False),
        ({"components": {"schemas": {}}}, True, True),
        (None, True, True),
        (None, False, False),
    ],
    ids=["int32", "of a schema that is referred to", "int64", "no number", "a schema of other kinds only",
         "no schema, and it scales", "no schema, and it does not"],
)  # fmt: skip
async def test_replicas_are_an_int32_by_the_schema_else_what_scales(
    document: Any, scales: bool, expected: bool, tmp_path: Path
) -> None:
    async def answer(request: web.BaseRequest) -> web.Response:
        assert request.path == "/openapi/v3/apis/a.test/v1"
        return answered(document) if document else web.Response(status=404)

    kind = ServedKind(
        group="a.test", version="v1", kind="Apple", plural="apples", namespaced=True,
        subresources=frozenset({"scale"} if scales else ()),
    )  # fmt: skip
    async with client_to(tmp_path, answer) as client:
        assert await has_replicas(client.connection, kind) is expected
