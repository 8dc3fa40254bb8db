"""The rules of the API server as in-process controllers meet them: no HTTP."""

import random
from datetime import UTC, datetime

import pytest

from mcs.sandbox.api import Api, WriteOptions
from mcs.sandbox.errors import StatusError
from mcs.sandbox.resources import (
    CONFIGMAPS,
    DEPLOYMENTS,
    ENDPOINT_SLICES,
    LEASES,
    NAMESPACES,
    PODS,
    SERVICES,
    ResourceType,
)
from mcs.sandbox.rules.bootstrap import install_first_objects
from mcs.sandbox.rules.deletion import DeleteOptions
from mcs.sandbox.rules.meta import Preconditions
from mcs.sandbox.store import Change, ChangeType, Object

NOW = datetime(2030, 1, 2, 3, 4, 5, tzinfo=UTC)


@pytest.fixture
def api() -> Api:
    made = Api(now=lambda: NOW, chance=random.Random(7))
    install_first_objects(made)
    return made


def config_map(name: str = "a", **more: object) -> Object:
    return {"metadata": {"name": name, "namespace": "default", **more}, "data": {"k": "v"}}


def deployment(**spec: object) -> Object:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "c"}]}}
    whole = {"selector": {"matchLabels": {"a": "b"}}, "template": template, **spec}
    return {"metadata": {"name": "web", "namespace": "default"}, "spec": whole}


def test_the_server_sets_identity_times_and_kind(api: Api) -> None:
    made = api.create(CONFIGMAPS, config_map(uid="mine", creationTimestamp="1999-01-01T00:00:00Z"))
    assert (made["apiVersion"], made["kind"]) == ("v1", "ConfigMap")
    assert made["metadata"]["creationTimestamp"] == "2030-01-02T03:04:05Z"
    assert made["metadata"]["uid"] != "mine"
    assert made["metadata"]["managedFields"][0]["manager"] == "sandbox"


def test_a_name_is_generated_from_its_beginning(api: Api) -> None:
    obj: Object = {"metadata": {"generateName": "web-", "namespace": "default"}}
    names = {api.create(CONFIGMAPS, obj)["metadata"]["name"] for _ in range(3)}
    assert len(names) == 3
    assert all(name.startswith("web-") and len(name) == 9 for name in names)


def test_nothing_is_created_in_a_namespace_that_is_missing_or_ending(api: Api) -> None:
    with pytest.raises(StatusError, match='namespaces "shop" not found'):
        api.create(CONFIGMAPS, {"metadata": {"name": "a"}}, namespace="shop")
    api.create(NAMESPACES, {"metadata": {"name": "shop"}})
    ended = api.delete(NAMESPACES, "", "shop")
    assert (ended.gone, ended.obj["status"]["phase"]) == (False, "Terminating")
    with pytest.raises(StatusError) as refused:
        api.create(CONFIGMAPS, {"metadata": {"name": "a"}}, namespace="shop")
    assert refused.value.details is not None
    assert (refused.value.code, refused.value.details.causes[0].reason) == (403, "NamespaceTerminating")


def test_a_namespace_goes_when_it_is_finalized(api: Api) -> None:
    api.create(NAMESPACES, {"metadata": {"name": "shop"}})
    left = api.delete(NAMESPACES, "", "shop").obj
    api.update(NAMESPACES, {**left, "spec": {"finalizers": []}}, subresource="finalize")
    assert api.store.get(NAMESPACES, "", "shop") is None


def test_the_default_namespace_stays(api: Api) -> None:
    with pytest.raises(StatusError, match="this namespace may not be deleted"):
        api.delete(NAMESPACES, "", "default")


def test_generation_counts_what_is_wanted_only(api: Api) -> None:
    made = api.create(DEPLOYMENTS, deployment(replicas=1))
    assert made["metadata"]["generation"] == 1
    labelled = api.update(DEPLOYMENTS, {**made, "metadata": {**made["metadata"], "labels": {"x": "y"}}})
    assert labelled["metadata"]["generation"] == 1
    scaled = api.update(DEPLOYMENTS, {**labelled, "spec": {**labelled["spec"], "replicas": 2}})
    assert scaled["metadata"]["generation"] == 2
    told = api.update_status(DEPLOYMENTS, {**scaled, "status": {"observedGeneration": 2}, "spec": {}})
    assert (told["metadata"]["generation"], told["spec"]["replicas"]) == (2, 2)
    plain = api.update(DEPLOYMENTS, {**told, "status": {"observedGeneration": 7}})
    assert plain["status"] == {"observedGeneration": 2}


def test_an_endpoint_slice_counts_its_endpoints(api: Api) -> None:
    body: Object = {"metadata": {"name": "s", "namespace": "default"}, "addressType": "IPv4", "endpoints": []}
    made = api.create(ENDPOINT_SLICES, body)
    changed = api.update(ENDPOINT_SLICES, {**made, "endpoints": [{"addresses": ["10.0.0.1"]}]})
    assert (made["metadata"]["generation"], changed["metadata"]["generation"]) == (1, 2)


def test_updates_without_a_version_depend_on_the_kind(api: Api) -> None:
    api.create(CONFIGMAPS, config_map())
    assert api.update(CONFIGMAPS, {**config_map(), "data": {"x": "1"}})["data"] == {"x": "1"}
    lease: Object = {"metadata": {"name": "l", "namespace": "default"}, "spec": {"holderIdentity": "a"}}
    api.create(LEASES, lease)
    with pytest.raises(StatusError) as refused:
        api.update(LEASES, lease)
    assert refused.value.code == 422


def test_hooks_see_every_write_and_may_change_or_refuse_it(api: Api) -> None:
    seen: list[tuple[str, str]] = []

    def hook(operation: str, resource: ResourceType, old: Object | None, new: Object | None) -> Object | None:
        seen.append((operation, resource.plural))
        if new is not None and new.get("data", {}).get("bad"):
            raise StatusError(403, "Forbidden", "no")
        return None if new is None else {**new, "data": {**new["data"], "hooked": operation}}

    api.hooks.append(hook)
    made = api.create(CONFIGMAPS, config_map())
    assert made["data"] == {"k": "v", "hooked": "CREATE"}
    with pytest.raises(StatusError, match="no"):
        api.update(CONFIGMAPS, {**made, "data": {"bad": "x"}})
    api.delete(CONFIGMAPS, "default", "a")
    assert seen == [("CREATE", "configmaps"), ("UPDATE", "configmaps"), ("DELETE", "configmaps")]


def test_who_follows_writes_may_write_in_turn(api: Api) -> None:
    def follow(operation: str, resource: ResourceType, obj: Object) -> None:
        if resource is SERVICES and operation == "CREATE":
            api.create(CONFIGMAPS, config_map(f"for-{obj['metadata']['name']}"))

    api.after_write.append(follow)
    body: Object = {
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {"clusterIP": "None", "clusterIPs": ["None"]},
    }
    api.create(SERVICES, body)
    assert api.store.get(CONFIGMAPS, "default", "for-web") is not None


def test_a_dry_run_tells_and_changes_nothing(api: Api) -> None:
    dry = WriteOptions(dry_run=True)
    before = api.store.revision
    assert api.create(CONFIGMAPS, config_map(), options=dry)["metadata"]["name"] == "a"
    assert api.store.revision == before
    made = api.create(CONFIGMAPS, config_map())
    assert api.update(CONFIGMAPS, {**made, "data": {"x": "1"}}, options=dry)["data"] == {"x": "1"}
    assert api.delete(CONFIGMAPS, "default", "a", DeleteOptions(dry_run=True)).gone
    assert api.get(CONFIGMAPS, "default", "a") == made


@pytest.mark.parametrize(
    ("propagation", "finalizer"), [("Foreground", "foregroundDeletion"), ("Orphan", "orphan")]
)
def test_propagation_waits_for_the_garbage_collector(api: Api, propagation: str, finalizer: str) -> None:
    api.create(DEPLOYMENTS, deployment())
    deleted = api.delete(DEPLOYMENTS, "default", "web", DeleteOptions(propagation=propagation))
    assert (deleted.gone, deleted.obj["metadata"]["finalizers"]) == (False, [finalizer])
    assert deleted.obj["metadata"]["generation"] == 2
    kept = {**deleted.obj["metadata"], "finalizers": []}
    api.update(DEPLOYMENTS, {**deleted.obj, "metadata": kept})
    assert api.store.get(DEPLOYMENTS, "default", "web") is None


def test_a_pod_on_a_node_gets_its_grace_and_others_go_at_once(api: Api) -> None:
    spec: Object = {"containers": [{"name": "c", "image": "c"}], "terminationGracePeriodSeconds": 20}
    api.create(PODS, {"metadata": {"name": "free", "namespace": "default"}, "spec": spec})
    assert api.delete(PODS, "default", "free").gone
    api.create(PODS, {"metadata": {"name": "p", "namespace": "default"}, "spec": {**spec, "nodeName": "n"}})
    ending = api.delete(PODS, "default", "p")
    assert not ending.gone
    assert ending.obj["metadata"]["deletionTimestamp"] == "2030-01-02T03:04:25Z"
    assert ending.obj["metadata"]["deletionGracePeriodSeconds"] == 20
    assert api.delete(PODS, "default", "p", DeleteOptions(grace_period=0)).gone


def test_preconditions_name_the_object_that_is_meant(api: Api) -> None:
    made = api.create(CONFIGMAPS, config_map())
    wrong = DeleteOptions(preconditions=Preconditions(uid="other"))
    with pytest.raises(StatusError, match="UID in the precondition"):
        api.delete(CONFIGMAPS, "default", "a", wrong)
    right = Preconditions(made["metadata"]["uid"], made["metadata"]["resourceVersion"])
    assert api.delete(CONFIGMAPS, "default", "a", DeleteOptions(preconditions=right)).gone


def test_the_last_finalizer_takes_the_object_with_it(api: Api) -> None:
    heard: list[Change] = []
    api.create(CONFIGMAPS, config_map(finalizers=["example.org/hold"]))
    held = api.delete(CONFIGMAPS, "default", "a").obj
    again = api.delete(CONFIGMAPS, "default", "a").obj
    assert again == held
    api.store.listen(heard.append)
    api.update(CONFIGMAPS, {**held, "metadata": {**held["metadata"], "finalizers": []}})
    assert [change.type for change in heard] == [ChangeType.DELETED]


def test_apply_leaves_what_it_was_not_asked_about(api: Api) -> None:
    api.create(CONFIGMAPS, {**config_map(), "data": {"theirs": "1"}}, options=WriteOptions(manager="them"))
    config = {"apiVersion": "v1", "kind": "ConfigMap", **config_map(), "data": {"ours": "2"}}
    applied = api.apply(CONFIGMAPS, config, options=WriteOptions(manager="us"))
    assert applied["data"] == {"theirs": "1", "ours": "2"}
    unchanged = api.apply(CONFIGMAPS, config, options=WriteOptions(manager="us"))
    assert unchanged["metadata"]["resourceVersion"] == applied["metadata"]["resourceVersion"]
