"""Strategic merge patches on a Deployment and a Service; every row was also sent to a real kube-apiserver
1.34.4.
"""

import copy
from typing import Any

import pytest

from mcs.sandbox.apply.merge import PatchError
from mcs.sandbox.apply.schemas import Object, Schema, schema_of
from mcs.sandbox.apply.strategic import strategic_merge

ENV = [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}, {"name": "C", "value": "3"}]
POD: Object = {
    "containers": [
        {"name": "a", "image": "1", "env": ENV, "ports": [{"containerPort": 80}, {"containerPort": 81}]},
        {"name": "b", "image": "2"},
        {"name": "c", "image": "3", "command": ["x"], "args": ["1", "2"]},
    ],
    "volumes": [{"name": "v", "emptyDir": {}}, {"name": "w", "configMap": {"name": "c"}}],
    "tolerations": [{"key": "a", "operator": "Exists"}],
    "imagePullSecrets": [{"name": "p"}],
}
DEPLOYMENT: Object = {
    "metadata": {"name": "d", "labels": {"a": "1"}, "finalizers": ["x/a", "x/b"]},
    "spec": {
        "replicas": 2,
        "strategy": {"type": "RollingUpdate", "rollingUpdate": {}},
        "template": {"spec": POD},
    },
}
SERVICE: Object = {
    "spec": {
        "selector": {"a": "b"},
        "ports": [
            {"name": "a", "port": 80},
            {"name": "b", "port": 81},
            {"name": "c", "port": 80, "protocol": "UDP"},
        ],
    },
}


def schema(group: str, kind: str) -> Schema:
    found = schema_of(group, kind)
    assert found is not None
    return found


def patched_pod(patch: Object) -> Object:
    before = copy.deepcopy((DEPLOYMENT, patch))
    whole = {"spec": {"template": {"spec": patch}}}
    result = strategic_merge(DEPLOYMENT, whole, schema("apps", "Deployment"))
    assert (DEPLOYMENT, patch) == before, "arguments are never changed"
    pod: Object = result["spec"]["template"]["spec"]
    return pod


def images(pod: Object) -> list[str]:
    return [f"{container['name']}:{container['image']}" for container in pod["containers"]]


@pytest.mark.parametrize(
    ("patch", "expected"),
    [
        pytest.param([{"name": "b", "image": "9"}], ["a:1", "b:9", "c:3"], id="a container merges by name"),
        pytest.param([{"name": "z", "image": "9"}], ["z:9", "a:1", "b:2", "c:3"], id="a new one comes first"),
        pytest.param([{"name": "b", "$patch": "delete"}], ["a:1", "c:3"], id="one is deleted by directive"),
        pytest.param(
            [{"$patch": "replace"}, {"name": "q", "image": "5"}], ["q:5"], id="the list is replaced"
        ),
    ],
)
def test_containers_merge_by_name(patch: list[Object], expected: list[str]) -> None:
    assert images(patched_pod({"containers": patch})) == expected


@pytest.mark.parametrize(
    ("order", "patch", "expected"),
    [
        pytest.param("cab", [], ["c:3", "a:1", "b:2"], id="order alone rearranges"),
        pytest.param(
            "cna",
            [{"name": "n", "image": "7"}, {"name": "a", "image": "8"}],
            ["b:2", "c:3", "n:7", "a:8"],
            id="items outside the order keep their places",
        ),
    ],
)
def test_set_element_order_arranges_a_list(order: str, patch: list[Object], expected: list[str]) -> None:
    items = {"containers": patch} if patch else {}
    pod = patched_pod({"$setElementOrder/containers": [{"name": name} for name in order], **items})
    assert images(pod) == expected


@pytest.mark.parametrize(
    ("patch", "field", "expected"),
    [
        pytest.param(
            {
                "env": [
                    {"name": "B", "$patch": "delete"},
                    {"name": "D", "value": "4"},
                    {"name": "A", "value": None, "valueFrom": {"fieldRef": {"fieldPath": "p"}}},
                ]
            },
            "env",
            [
                {"name": "D", "value": "4"},
                {"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "p"}}},
                {"name": "C", "value": "3"},
            ],
            id="variables are deleted, added and changed by name",
        ),
        pytest.param(
            {
                "$setElementOrder/env": [{"name": "C"}, {"name": "E"}, {"name": "A"}],
                "env": [{"name": "E", "value": "5"}],
            },
            "env",
            [
                {"name": "B", "value": "2"},
                {"name": "C", "value": "3"},
                {"name": "E", "value": "5"},
                {"name": "A", "value": "1"},
            ],
            id="variables are put in order",
        ),
        pytest.param(
            {"ports": [{"containerPort": 82}, {"containerPort": 80, "$patch": "delete"}]},
            "ports",
            [{"containerPort": 82}, {"containerPort": 81}],
            id="container ports merge by number",
        ),
    ],
)
def test_lists_inside_a_container_merge_by_their_own_keys(patch: Object, field: str, expected: Any) -> None:
    pod = patched_pod({"containers": [{"name": "a", **patch}]})
    assert pod["containers"][0][field] == expected


@pytest.mark.parametrize(
    ("patch", "field", "expected"),
    [
        pytest.param(
            {"volumes": [{"name": "v", "$retainKeys": ["name", "hostPath"], "hostPath": {"path": "/x"}}]},
            "volumes",
            [{"name": "v", "hostPath": {"path": "/x"}}, {"name": "w", "configMap": {"name": "c"}}],
            id="retained keys drop the old volume source",
        ),
        pytest.param(
            {"volumes": [{"name": "v", "hostPath": {"path": "/x"}}]},
            "volumes",
            [
                {"name": "v", "emptyDir": {}, "hostPath": {"path": "/x"}},
                {"name": "w", "configMap": {"name": "c"}},
            ],
            id="without them both sources are there",
        ),
        pytest.param(
            {"volumes": [{"name": "w", "$patch": "replace", "emptyDir": {}}]},
            "volumes",
            [],
            id="a replace directive in any item empties the list",
        ),
        pytest.param(
            {"tolerations": [{"key": "b", "operator": "Exists"}]},
            "tolerations",
            [{"key": "b", "operator": "Exists"}],
            id="an atomic list is replaced",
        ),
        pytest.param(
            {"imagePullSecrets": [{"name": "q"}]},
            "imagePullSecrets",
            [{"name": "q"}, {"name": "p"}],
            id="references merge by name",
        ),
        pytest.param(
            {"nodeSelector": {"a": "b", "c": None}}, "nodeSelector", {"a": "b"}, id="null is not set"
        ),
        pytest.param({"volumes": None}, "volumes", None, id="null deletes"),
    ],
)
def test_pod_fields_merge_by_their_strategy(patch: Object, field: str, expected: Any) -> None:
    assert patched_pod(patch).get(field) == expected


@pytest.mark.parametrize(
    ("patch", "expected"),
    [
        pytest.param({"finalizers": ["x/c", "x/a"]}, ["x/c", "x/a", "x/b"], id="a set is joined"),
        pytest.param({"$deleteFromPrimitiveList/finalizers": ["x/a"]}, ["x/b"], id="one is taken out"),
        pytest.param(
            {"$setElementOrder/finalizers": ["x/b", "x/c", "x/a"], "finalizers": ["x/c"]},
            ["x/b", "x/c", "x/a"],
            id="and put in order",
        ),
        pytest.param(
            {
                "$deleteFromPrimitiveList/finalizers": ["x/b"],
                "$setElementOrder/finalizers": ["x/c", "x/a"],
                "finalizers": ["x/c"],
            },
            ["x/c", "x/a"],
            id="all three together, as kubectl sends them",
        ),
    ],
)
def test_finalizers_merge_as_a_set(patch: Object, expected: list[str]) -> None:
    result = strategic_merge(DEPLOYMENT, {"metadata": patch}, schema("apps", "Deployment"))
    assert result["metadata"]["finalizers"] == expected


@pytest.mark.parametrize(
    ("patch", "expected"),
    [
        pytest.param({"$retainKeys": ["type"], "type": "Recreate"}, {"type": "Recreate"}, id="retain keys"),
        pytest.param({"$patch": "replace", "type": "Recreate"}, {"type": "Recreate"}, id="replace"),
        pytest.param({"$patch": "delete"}, {}, id="delete"),
        pytest.param({"type": "Recreate"}, {"type": "Recreate", "rollingUpdate": {}}, id="merge"),
    ],
)
def test_a_map_takes_directives(patch: Object, expected: Object) -> None:
    result = strategic_merge(DEPLOYMENT, {"spec": {"strategy": patch}}, schema("apps", "Deployment"))
    assert result["spec"]["strategy"] == expected
    assert result["spec"]["replicas"] == 2


@pytest.mark.parametrize(
    ("patch", "expected"),
    [
        pytest.param([{"port": 81, "targetPort": 9}], "a80 c80 b81", id="a port merges by number"),
        pytest.param([{"port": 80, "$patch": "delete"}], "b81", id="delete takes every protocol"),
        pytest.param([{"name": "z", "port": 82}], "z82 a80 c80 b81", id="equal numbers stay together"),
        pytest.param([{"$patch": "replace"}, {"name": "y", "port": 83}], "y83", id="replace"),
    ],
)
def test_ports_of_a_service_merge_by_number_alone(patch: list[Object], expected: str) -> None:
    result = strategic_merge(SERVICE, {"spec": {"ports": patch}}, schema("", "Service"))
    assert " ".join(f"{port['name']}{port['port']}" for port in result["spec"]["ports"]) == expected


@pytest.mark.parametrize(
    ("patch", "code", "message"),
    [
        pytest.param(
            {"containers": [{"image": "x"}]},
            500,
            "map: map[image:x] does not contain declared merge key: name",
            id="an item without its key",
        ),
        pytest.param(
            {"containers": [{"name": "b", "$patch": "zz"}]},
            500,
            "unknown patch type: zz in map: map[$patch:zz name:b]",
            id="an unknown directive",
        ),
        pytest.param(
            {"containers": [{"name": "b", "$patch": "merge"}]},
            500,
            "merging lists cannot yet be specified in the patch",
            id="merge as a directive of an item",
        ),
        pytest.param(
            {"volumes": [{"name": "v", "$retainKeys": ["name"], "hostPath": {"path": "/x"}}]},
            400,
            "invalid patch format of retainKeys",
            id="a key that is not retained",
        ),
        pytest.param(
            {
                "$setElementOrder/containers": [{"name": "c"}, {"name": "b"}],
                "containers": [{"name": "b", "image": "7"}, {"name": "c"}],
            },
            500,
            "The order in patch list:\n[map[image:7 name:b] map[name:c]]\n"
            " doesn't match $setElementOrder list:\n[map[name:c] map[name:b]]\n",
            id="items in another order than the order says",
        ),
    ],
)
def test_a_patch_that_contradicts_itself_is_refused(patch: Object, code: int, message: str) -> None:
    with pytest.raises(PatchError) as refused:
        patched_pod(patch)
    assert (refused.value.code, str(refused.value)) == (code, message)
