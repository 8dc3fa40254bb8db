"""The executor: order, protection of what is not ours, and no write that was already answered."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from mcs.kube.errors import Conflict, Invalid, NamespaceTerminating, NotFound, ServerError
from mcs.model.actions import Action, Apply, Delete, Patch, RecordEvent
from mcs.model.events import Event, ObjectReference
from mcs.model.meta import KubernetesObject, ObjectMeta
from mcs.model.names import MANAGED_BY, MANAGED_BY_LABEL, ClusterId, ServiceKey
from mcs.model.resources import ENDPOINT_SLICES, SERVICE_EXPORTS, SERVICES, Resource
from mcs.model.services import Service
from mcs.model.slices import IPV4
from mcs.runtime import executor as executor_module
from mcs.runtime.cache import Cache
from mcs.runtime.executor import Executor, ForeignObjectError
from mcs.testing.virtual_time import run_virtual

HERE = ClusterId("here")
KEY = ServiceKey("demo", "web")


class Server:
    """Objects by (plural, key), and the requests that came in."""

    def __init__(self) -> None:
        self.objects: dict[tuple[str, ServiceKey], Any] = {}
        self.requests: list[str] = []
        self.refusals: dict[str, Exception] = {}
        self._version = 0

    async def get(self, resource: Resource[Any], namespace: str, name: str) -> Any:
        self.requests.append(f"get {resource} {name}")
        found = self.objects.get((resource.plural, ServiceKey(namespace, name)))
        if found is None:
            raise NotFound(404)
        return found

    async def apply(
        self, resource: Resource[Any], obj: Any, *, subresource: str = "", force: bool = True
    ) -> Any:
        """As an API server, which refuses to take fields over unless that is forced."""
        self.requests.append(f"apply {resource} {obj.metadata.name}{'/' if subresource else ''}{subresource}")
        present = self.objects.get((resource.plural, obj.key))
        if present is not None and not present.is_ours and not force:
            raise Conflict(409)
        if (refusal := self.refusals.get(obj.metadata.name)) is not None:
            raise refusal
        self._version += 1
        metadata = msgspec.structs.replace(obj.metadata, uid="u1", resource_version=str(self._version))
        stored = msgspec.structs.replace(obj, metadata=metadata)
        self.objects[resource.plural, obj.key] = stored
        return stored

    async def patch(
        self,
        resource: Resource[Any],
        namespace: str,
        name: str,
        changes: dict[str, Any],
        *,
        subresource: str = "",
    ) -> Any:
        self.requests.append(f"patch {resource} {name}{'/' if subresource else ''}{subresource} {changes}")
        present = await self.get(resource, namespace, name)
        self._version += 1
        metadata = msgspec.structs.replace(
            present.metadata,
            resource_version=str(self._version),
            finalizers=tuple(changes.get("metadata", {}).get("finalizers", present.metadata.finalizers)),
        )
        return msgspec.structs.replace(present, metadata=metadata)

    async def delete(
        self, resource: Resource[Any], namespace: str, name: str, *, uid: str, resource_version: str
    ) -> None:
        self.requests.append(f"delete {resource} {name} {uid} {resource_version}")
        self.objects.pop((resource.plural, ServiceKey(namespace, name)), None)


class Here:
    """An executor with its server and caches."""

    def __init__(self) -> None:
        self.server = Server()
        self.caches: dict[str, Cache[Any]] = {
            resource.plural: Cache() for resource in (SERVICES, ENDPOINT_SLICES, SERVICE_EXPORTS)
        }
        self.events: list[Event] = []
        self.executor = Executor(HERE, self.server, self.caches, record=self.events.append)

    def execute(self, *actions: Action) -> None:
        run_virtual(self.executor.execute(actions))


@pytest.fixture
def here() -> Here:
    return Here()


def apply(
    resource: Resource[Any],
    name: str = "web",
    subresource: str = "",
    ours: bool = True,
    is_hashed: bool = False,
) -> Apply:
    labels = {MANAGED_BY_LABEL: MANAGED_BY} if ours else {}
    metadata = ObjectMeta(name=name, namespace="demo", labels=labels)
    required = {"address_type": IPV4} if resource is ENDPOINT_SLICES else {}
    obj = resource.type(metadata=metadata, **required)
    return Apply(cluster=HERE, resource=resource, object=obj, subresource=subresource, is_hashed=is_hashed)


def test_actions_are_carried_out_in_their_order(here: Here) -> None:
    here.execute(apply(ENDPOINT_SLICES), apply(SERVICES))
    assert [request for request in here.server.requests if request.startswith("apply")] == [
        "apply endpointslices web",
        "apply services web",
    ]


def test_a_name_the_cache_does_not_know_is_looked_up_before_its_first_write_and_then_no_more(
    here: Here,
) -> None:
    here.execute(apply(SERVICES))
    here.execute(apply(SERVICES, name="other"))
    labels = {MANAGED_BY_LABEL: MANAGED_BY, "changed": "yes"}
    changed = Service(metadata=ObjectMeta(name="web", namespace="demo", labels=labels))
    here.execute(Apply(cluster=HERE, resource=SERVICES, object=changed))
    assert [request for request in here.server.requests if request.startswith("get")] == [
        "get services web",
        "get services other",
    ]


def test_somebody_elses_object_is_left_alone_and_taken_into_the_cache(here: Here) -> None:
    foreign = KubernetesObject(
        metadata=ObjectMeta(name="web", namespace="demo", uid="x", resource_version="1")
    )
    here.server.objects["services", KEY] = foreign
    with pytest.raises(
        ForeignObjectError, match="Service demo/web exists and is not managed by this controller"
    ):
        here.execute(apply(SERVICES), apply(ENDPOINT_SLICES))
    assert here.server.requests == ["get services web", "get endpointslices web", "apply endpointslices web"]
    assert here.caches["services"].get(KEY) is foreign


def test_a_hashed_name_is_written_without_a_look(here: Here) -> None:
    here.execute(apply(SERVICES, is_hashed=True))
    assert here.server.requests == ["apply services web"]


def test_somebody_elses_object_at_a_hashed_name_is_left_alone_before_and_after_the_watch_brings_it(
    here: Here,
) -> None:
    foreign = KubernetesObject(
        metadata=ObjectMeta(name="web", namespace="demo", uid="x", resource_version="1")
    )
    here.server.objects["services", KEY] = foreign
    with pytest.raises(Conflict):
        here.execute(apply(SERVICES, is_hashed=True))
    here.caches["services"].put(foreign)
    with pytest.raises(ForeignObjectError):
        here.execute(apply(SERVICES, is_hashed=True))
    assert here.server.requests == ["apply services web"]
    assert here.server.objects["services", KEY] is foreign


def test_an_object_of_ours_is_written_whatever_others_have_set_in_it(here: Here) -> None:
    forced = []

    class Noting(Server):
        async def apply(
            self, resource: Resource[Any], obj: Any, *, subresource: str = "", force: bool = True
        ) -> Any:
            forced.append(force)
            return await super().apply(resource, obj, subresource=subresource, force=force)

    executor = Executor(HERE, Noting(), here.caches)
    changed = apply(SERVICES, is_hashed=True)
    labels = {**changed.object.metadata.labels, "changed": "yes"}
    metadata = msgspec.structs.replace(changed.object.metadata, labels=labels)
    changed = msgspec.structs.replace(changed, object=Service(metadata=metadata))
    for action in (apply(SERVICES, is_hashed=True), changed):
        run_virtual(executor.execute([action]))
    assert forced == [False, True]


def test_the_answer_is_in_the_cache_at_once(here: Here) -> None:
    here.execute(apply(SERVICES))
    assert here.caches["services"].get(KEY) == here.server.objects["services", KEY]


def test_what_the_server_already_answered_is_not_sent_again(here: Here) -> None:
    # The plan goes on asking when the server stores something else than it was sent; writing would never end.
    here.execute(apply(SERVICES))
    here.execute(apply(SERVICES))
    assert here.server.requests.count("apply services web") == 1


def test_a_change_by_somebody_else_makes_the_same_apply_worth_sending_again(here: Here) -> None:
    here.execute(apply(SERVICES))
    held = here.caches["services"].get(KEY)
    assert held is not None
    touched = msgspec.structs.replace(held.metadata, resource_version="9")
    here.caches["services"].put(msgspec.structs.replace(held, metadata=touched))
    here.execute(apply(SERVICES))
    assert here.server.requests.count("apply services web") == 2


def test_the_status_of_an_object_of_a_user_is_applied_without_asking_whose_it_is(here: Here) -> None:
    here.execute(apply(SERVICE_EXPORTS, subresource="status", ours=False))
    assert here.server.requests == ["apply serviceexports web/status"]


def test_an_invalid_object_does_not_stop_the_others_and_is_told_in_the_end(here: Here) -> None:
    here.server.refusals["bad"] = Invalid(422)
    with pytest.raises(Invalid):
        here.execute(apply(ENDPOINT_SLICES, "bad"), apply(ENDPOINT_SLICES, "good"), apply(SERVICES))
    assert here.server.requests[-1] == "apply services web"
    assert ("endpointslices", ServiceKey("demo", "good")) in here.server.objects


def test_any_other_refusal_ends_the_execution_where_it_is(here: Here) -> None:
    here.server.refusals["web"] = Conflict(409)
    with pytest.raises(Conflict):
        here.execute(apply(ENDPOINT_SLICES), apply(SERVICES))
    assert "apply services web" not in here.server.requests


def test_a_namespace_that_is_going_is_success(here: Here) -> None:
    here.server.refusals["web"] = NamespaceTerminating(403)
    here.execute(apply(ENDPOINT_SLICES))


def test_a_delete_names_what_the_plan_saw_and_empties_the_cache(here: Here) -> None:
    here.execute(apply(SERVICES))
    action = Delete(
        cluster=HERE, resource=SERVICES, namespace="demo", name="web", uid="u1", resource_version="1"
    )
    here.execute(action)
    assert here.server.requests[-1] == "delete services web u1 1"
    assert here.caches["services"].get(KEY) is None


def patch(name: str = "web", **changes: Any) -> Patch:
    return Patch(cluster=HERE, resource=SERVICES, namespace="demo", name=name, changes=changes)


def held(here: Here, **metadata: Any) -> None:
    known = Service(
        metadata=ObjectMeta(name="web", namespace="demo", uid="u", resource_version="0", **metadata)
    )
    here.server.objects["services", KEY] = known
    here.caches["services"].put(known)


def test_a_patch_changes_what_is_not_ours_and_the_cache_knows_at_once(here: Here) -> None:
    held(here)
    here.execute(patch(metadata={"finalizers": ["a"]}))
    assert here.server.requests[0] == "patch services web {'metadata': {'finalizers': ['a']}}"
    known = here.caches["services"].get(KEY)
    assert known is not None
    assert known.metadata.finalizers == ("a",)


@pytest.mark.parametrize(("left", "is_known"), [([], False), (["b"], True)])
def test_an_object_that_a_patch_lets_go_does_not_come_back(
    here: Here, left: list[str], is_known: bool
) -> None:
    held(here, deletion_timestamp="2026-01-01T00:00:00Z", finalizers=("a", "b"))
    here.caches["services"].discard(KEY)
    here.execute(patch(metadata={"finalizers": left}))
    assert (here.caches["services"].get(KEY) is not None) is is_known


def test_a_patch_of_what_is_gone_is_no_failure(here: Here) -> None:
    here.execute(patch("gone", metadata={}), apply(SERVICES))
    assert ("services", KEY) in here.server.objects


def test_a_failed_look_up_leaves_no_other_behind(here: Here) -> None:
    class Slow(Server):
        async def get(self, resource: Resource[Any], namespace: str, name: str) -> Any:
            if name == "refused":
                raise ServerError(503)
            await asyncio.sleep(3)
            return await super().get(resource, namespace, name)

    async def run() -> set[str]:
        executor = Executor(HERE, Slow(), here.caches)
        with pytest.raises(ServerError):
            await executor.execute((apply(SERVICES, "refused"), apply(SERVICES, "slow")))
        return {task.get_name() for task in asyncio.all_tasks() - {asyncio.current_task()}}

    assert run_virtual(run()) == set()


def test_what_others_deleted_is_forgotten(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executor_module, "FEW", 4)
    executor = Executor(HERE, here.server, here.caches)
    for number in range(100):
        name = f"web-{number}"
        run_virtual(executor.execute((apply(SERVICES, name),)))
        here.caches[SERVICES.plural].discard(ServiceKey("demo", name), "1000")
    assert executor.remembered <= 5
    run_virtual(executor.execute((apply(SERVICES, "kept"),)))
    here.server.requests.clear()
    run_virtual(executor.execute((apply(SERVICES, "kept"),)))
    assert here.server.requests == []


def told(name: str, uid: str = "") -> RecordEvent:
    about = ObjectReference(kind="Service", namespace="demo", name=name, uid=uid)
    return RecordEvent(cluster=HERE, about=SERVICES, object=Event(involved_object=about))


def test_an_event_is_noted_after_the_writes_with_the_uid_of_what_they_made(here: Here) -> None:
    here.execute(told("web"), apply(SERVICES), told("web", "u9"))
    assert [event.involved_object.uid for event in here.events] == ["u1", "u9"]
    assert not any("event" in request for request in here.server.requests)


def test_what_was_refused_did_not_happen_and_is_not_told(here: Here) -> None:
    here.server.refusals["web"] = Invalid(422)
    with pytest.raises(Invalid):
        here.execute(apply(SERVICES), told("web"))
    assert here.events == []
