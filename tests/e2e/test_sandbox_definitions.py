"""CustomResourceDefinitions in the sandbox: discovery, versions, schemas, and what goes when they go."""

import pytest

from mcs.sandbox.http.discovery import AGGREGATED
from tests.e2e.sandbox_client import APPLY, TABLE, Client, Json, definition

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
WIDGETS = "/apis/example.org/v1/namespaces/default/widgets"
ALPHA = "/apis/example.org/v1alpha1/namespaces/default/widgets"


def widget(name: str = "a", **spec: object) -> Json:
    return {"apiVersion": "example.org/v1", "kind": "Widget", "metadata": {"name": name}, "spec": spec}


async def test_a_definition_is_established_and_served_at_once(client: Client) -> None:
    assert (await client.ask("GET", WIDGETS)).code == 404
    await client.create(CRDS, definition())
    crd = await client.get(f"{CRDS}/widgets.example.org")
    assert {c["type"]: c["status"] for c in crd["status"]["conditions"]} == {
        "NamesAccepted": "True",
        "Established": "True",
    }
    assert crd["status"]["storedVersions"] == ["v1"]
    assert (await client.get(WIDGETS))["kind"] == "WidgetList"


async def test_discovery_lists_it_plainly_and_aggregated(client: Client) -> None:
    await client.create(CRDS, definition())
    groups = await client.get("/apis")
    (group,) = [g for g in groups["groups"] if g["name"] == "example.org"]
    assert [v["version"] for v in group["versions"]] == ["v1", "v1alpha1"]
    resources = await client.get("/apis/example.org/v1")
    assert [r["name"] for r in resources["resources"]] == ["widgets", "widgets/status"]
    assert resources["resources"][0]["shortNames"] == ["wd"]
    whole = await client.ask("GET", "/apis", Accept=AGGREGATED)
    assert whole.headers["Content-Type"] == AGGREGATED
    (found,) = [item for item in whole.json["items"] if item["metadata"]["name"] == "example.org"]
    assert found["versions"][0]["resources"][0]["resource"] == "widgets"


async def test_openapi_is_there_for_what_kubectl_asks(client: Client) -> None:
    await client.create(CRDS, definition())
    v2 = await client.ask("GET", "/openapi/v2")
    assert (len(v2.content), v2.headers["Content-Type"]) == (
        20,
        "application/com.github.proto-openapi.spec.v2.v1.0+protobuf",
    )
    index = await client.get("/openapi/v3")
    assert list(index["paths"]) == ["apis/example.org/v1", "apis/example.org/v1alpha1"]
    document = await client.get(index["paths"]["apis/example.org/v1"]["serverRelativeURL"])
    operation = document["paths"]["/apis/example.org/v1/namespaces/{namespace}/widgets/{name}"]["patch"]
    assert operation["x-kubernetes-group-version-kind"]["kind"] == "Widget"
    assert [parameter["name"] for parameter in operation["parameters"]] == ["fieldValidation"]
    schema = document["components"]["schemas"]["org.example.v1.Widget"]
    assert {"annotations", "labels"} <= schema["properties"]["metadata"]["properties"].keys()


async def test_unknown_fields_are_pruned_and_defaults_filled(client: Client) -> None:
    await client.create(CRDS, definition())
    created = await client.create(WIDGETS, widget(size="small", odd=1))
    assert created["spec"] == {"size": "small", "count": 1}
    assert created["metadata"]["generation"] == 1


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"size": "huge"}, 'spec.size: Unsupported value: "huge": supported values: "small", "large"'),
        (
            {"count": -1},
            "spec.count: Invalid value: -1: spec.count in body should be greater than or equal to 0",
        ),
        (
            {"size": 3},
            'spec.size: Invalid value: "integer": spec.size in body must be of type string: "integer"',
        ),
    ],
)
async def test_the_schema_refuses_in_kubernetes_words(client: Client, spec: Json, message: str) -> None:
    await client.create(CRDS, definition())
    refused = await client.ask("POST", WIDGETS, widget(**spec))
    assert refused.reason == (422, "Invalid")
    assert refused.json["message"] == f'Widget.example.org "a" is invalid: {message}'


async def test_one_object_is_seen_in_every_served_version(client: Client) -> None:
    await client.create(CRDS, definition())
    await client.create(WIDGETS, widget(size="small"))
    seen = await client.get(f"{ALPHA}/a")
    assert (seen["apiVersion"], seen["spec"]["size"]) == ("example.org/v1alpha1", "small")
    applied = {**widget(size="large"), "apiVersion": "example.org/v1alpha1"}
    await client.patch(f"{ALPHA}/a?fieldManager=m&force=true", applied, APPLY)
    async with client.watch(f"{ALPHA}?watch=true") as events:
        event = await events.next()
    assert event["object"]["apiVersion"] == "example.org/v1alpha1"
    assert (await client.get(f"{WIDGETS}/a"))["spec"]["size"] == "large"
    wrong = await client.ask("POST", WIDGETS, {**widget("b"), "apiVersion": "example.org/v1alpha1"})
    assert wrong.reason == (400, "BadRequest")


async def test_status_is_a_subresource_and_no_new_generation(client: Client) -> None:
    await client.create(CRDS, definition())
    created = await client.create(WIDGETS, {**widget(size="small"), "status": {"ready": True}})
    assert "status" not in created
    told = await client.patch(f"{WIDGETS}/a/status", {"spec": {"size": "large"}, "status": {"ready": True}})
    assert (told["spec"]["size"], told["status"]) == ("small", {"ready": True})
    assert told["metadata"]["generation"] == 1
    changed = await client.patch(f"{WIDGETS}/a", {"spec": {"size": "large"}, "status": {"ready": False}})
    assert (changed["metadata"]["generation"], changed["status"]) == (2, {"ready": True})


async def test_an_update_must_name_its_version(client: Client) -> None:
    await client.create(CRDS, definition())
    created = await client.create(WIDGETS, widget(size="small"))
    del created["metadata"]["resourceVersion"]
    refused = await client.ask("PUT", f"{WIDGETS}/a", created)
    assert refused.reason == (422, "Invalid")


async def test_printer_columns_are_its_table(client: Client) -> None:
    columns = [{"name": "Size", "type": "string", "jsonPath": ".spec.size"}]
    await client.create(CRDS, definition(additionalPrinterColumns=columns))
    await client.create(WIDGETS, widget(size="small"))
    table = await client.get(WIDGETS, Accept=TABLE)
    assert [column["name"] for column in table["columnDefinitions"]] == ["Name", "Size"]
    assert table["rows"][0]["cells"] == ["a", "small"]


async def test_removing_a_definition_removes_its_objects_first(client: Client) -> None:
    await client.create(CRDS, definition())
    held = widget("held")
    held["metadata"]["finalizers"] = ["example.org/hold"]
    await client.create(WIDGETS, held)
    await client.create(WIDGETS, widget("free"))
    await client.ask("DELETE", f"{CRDS}/widgets.example.org")
    left = await client.get(WIDGETS)
    assert [item["metadata"]["name"] for item in left["items"]] == ["held"]
    async with client.watch(f"{WIDGETS}?watch=true") as events:
        assert await events.names(1) == [("ADDED", "held")]
        await client.patch(f"{WIDGETS}/held", {"metadata": {"finalizers": None}})
        assert await events.names(1) == [("DELETED", "held")]
        with pytest.raises(EOFError):
            await events.next()
    assert (await client.ask("GET", f"{CRDS}/widgets.example.org")).code == 404
    assert (await client.ask("GET", WIDGETS)).content == b"404 page not found\n"
