"""Which change makes which piece of work: nothing that was decided from a picture may stay when the picture changes."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime

import pytest
from msgspec.structs import replace

from mcs.controllers.clusters import REFLECTED, Work
from mcs.controllers.services import ServicesController
from mcs.kube.errors import (
    Conflict,
    Forbidden,
    Invalid,
    ResourceMissing,
    ServerError,
    TooManyRequests,
    Unreachable,
)
from mcs.model.actions import Action, Apply
from mcs.model.meta import Condition
from mcs.model.multicluster import (
    ServiceExport,
    ServiceImport,
)
from mcs.model.names import (
    SERVICE_NAME_LABEL,
    SOURCE_CLUSTER_LABEL,
    ClusterId,
    ServiceKey,
    mirror_name,
)
from mcs.model.preference import PREFERENCE_ANNOTATION, TRAFFIC_ANNOTATION, WEIGHT_ANNOTATION
from mcs.model.services import Namespace, Service
from mcs.model.slices import IPV4
from mcs.runtime.executor import ForeignObjectError
from mcs.runtime.fleet import Fleet, Member
from mcs.testing.virtual_time import run_virtual
from tests.unit.controllers.two_clusters import (
    EAST,
    EVERYWHERE,
    PLACE,
    SLICE,
    WEB,
    WEST,
    Here,
    metadata,
    never,
    slice_,
    touched,
)


@pytest.mark.parametrize("plural", ["services", "endpointslices", "serviceexports"])
@pytest.mark.parametrize("is_exported", [True, False], ids=["exported", "no longer exported"])
def test_all_that_was_planned_without_a_malformed_object_is_planned_anew_when_it_is_well(
    plural: str, is_exported: bool
) -> None:
    key = SLICE if plural == "endpointslices" else WEB

    def change(here: Here) -> None:
        cache = here.cache(EAST, plural)
        cache.mark_malformed(key)
        if not is_exported and plural != "serviceexports":
            here.cache(EAST, "serviceexports").discard(WEB, "5")
        here.done()
        well = cache.get(key)
        cache.put(replace(well, metadata=replace(well.metadata, resource_version="9")))

    assert touched(change) >= {(EAST, "service shop/web"), (WEST, "service shop/web")}


def test_a_namespace_that_went_and_came_between_two_lists_is_another_one() -> None:
    def change(here: Here) -> None:
        again = Namespace(metadata=metadata(ServiceKey("", "shop"), 7, uid="another"))
        here.cache(WEST, "namespaces").replace([again])

    assert touched(change) == {(WEST, "service shop/web")}


def test_a_name_that_a_stranger_gives_up_is_tried_again() -> None:
    name = ServiceKey("shop", mirror_name(EAST, WEB, "web-1", IPV4))
    stranger = replace(slice_(name), metadata=metadata(name))

    def change(here: Here) -> None:
        here.cache(WEST, "endpointslices").put(stranger)
        here.done()
        here.cache(WEST, "endpointslices").discard(name, "5")

    assert (WEST, "service shop/web") in touched(change)


def test_a_mirror_in_an_exporting_cluster_is_none_of_its_sources() -> None:
    mirror = replace(
        slice_(ServiceKey("shop", "mirror")),
        metadata=replace(
            metadata(ServiceKey("shop", "mirror")),
            labels={
                "kubernetes.io/service-name": "web",
                SERVICE_NAME_LABEL: "web",
                SOURCE_CLUSTER_LABEL: "west",
            },
        ),
    )

    async def run() -> list[str]:
        here = Here()
        here.cache(EAST, "endpointslices").put(mirror)
        (exporter,) = here.controller.observe_target(WEST, WEB).exporters
        return [each.metadata.name for each in exporter.slices]

    assert run_virtual(run()) == ["web-1"]


def test_a_service_in_the_place_of_the_derived_one_touches_the_import_alone() -> None:
    service = Service(metadata=metadata(PLACE))
    assert touched(lambda here: here.cache(WEST, "services").put(service)) == {(WEST, "service shop/web")}
    other = Service(metadata=metadata(ServiceKey("shop", "derived-else")))
    assert touched(lambda here: here.cache(WEST, "services").put(other)) == set()


@pytest.mark.parametrize(("plural", "key"), [("serviceimports", WEB), ("services", PLACE)])
def test_nothing_is_planned_for_a_target_whose_import_cannot_be_read(plural: str, key: ServiceKey) -> None:
    async def run() -> tuple[bool, bool]:
        here = Here()
        here.cache(WEST, plural).mark_malformed(key)
        observed = [here.controller.observe_target(cluster, WEB) for cluster in (WEST, EAST)]
        return WEST in observed[0].seen, WEST in observed[1].seen

    assert run_virtual(run()) == (False, True)


def test_a_first_picture_touches_what_is_exported_everywhere_and_what_is_held_there() -> None:
    async def run() -> set[tuple[ClusterId, str]]:
        here = Here()
        here.controller._enqueue_all_of(EAST)
        return await here.work()

    assert run_virtual(run()) == EVERYWHERE


def test_lists_of_a_cluster_that_is_not_seen_yet_make_no_work_one_by_one() -> None:
    async def run() -> tuple[int, set[tuple[ClusterId, str]]]:
        members: list[Member[Work]] = [Member(each, never, REFLECTED) for each in (EAST, WEST)]
        fleet = Fleet(members)
        ServicesController(fleet, lambda: datetime(2026, 1, 1, tzinfo=UTC))
        east, west = members
        for cache in west.caches.values():
            cache.replace([])
        east.caches["serviceexports"].replace([ServiceExport(metadata=metadata(WEB))])
        before = len(east.queue) + len(west.queue)
        for cache in east.caches.values():
            cache.replace(list(cache))
        for member in members:
            member._tell_synced()
        return before, {(member.cluster, str(await member.queue.get())) for member in members}

    assert run_virtual(run()) == (0, {(EAST, "service shop/web"), (WEST, "service shop/web")})


def test_a_target_that_was_left_alone_for_a_malformed_slice_is_worked_on_when_it_is_well() -> None:
    def change(here: Here) -> None:
        here.cache(WEST, "serviceimports").discard(WEB, "3")
        here.cache(WEST, "endpointslices").mark_malformed(SLICE, "4")
        here.done()
        here.cache(WEST, "endpointslices").discard(SLICE, "5")

    assert touched(change) == {(WEST, "service shop/web")}


class Executes:
    """In the place of an executor: keeps what it is given; an import is written slowly, or not at all."""

    def __init__(self, here: Here, cluster: ClusterId, refusal: Exception | None) -> None:
        self.said: list[tuple[Condition, ...]] = []
        self._imports = here.cache(cluster, "serviceimports")
        self._refusal = refusal

    async def execute(self, actions: Sequence[Action]) -> None:
        for action in actions:
            match action:
                case Apply(object=ServiceExport() as told):
                    self.said.append(told.status.conditions)
                case Apply(object=ServiceImport() as made, subresource="status"):
                    await asyncio.sleep(10)
                    if self._refusal is not None:
                        raise self._refusal
                    self._imports.put(replace(made, metadata=metadata(WEB, 3)))


def told_of_web(
    refusal: Exception | None, *, is_due: bool = False
) -> tuple[list[dict[str, str]], Exception | None]:
    """What the export of web is told, each time by condition, and what the work ended with."""

    async def run() -> tuple[list[dict[str, str]], Exception | None]:
        here, ended = Here(), None
        for plural in ("services", "serviceexports"):
            found = here.cache(EAST, plural).get(WEB)
            here.cache(EAST, plural).put(replace(found, metadata=metadata(WEB, 2)))
        here.done()
        if is_due:
            here.fleet.members[EAST].queue.add(Work("service", WEB))
        executes = Executes(here, EAST, refusal)
        here.fleet.members[EAST].executor = executes  # type: ignore[assignment]
        try:
            await here.controller.reconcile(EAST, Work("service", WEB))
        except Exception as error:
            ended = error
        return [{each.type: each.status for each in conditions} for conditions in executes.said], ended

    return run_virtual(run())


def test_an_import_that_takes_long_to_write_is_followed_by_one_status_that_says_all() -> None:
    assert told_of_web(None) == ([{"Valid": "True", "Ready": "True", "Conflict": "False"}], None)


@pytest.mark.parametrize(
    "refusal", [Forbidden(403), ServerError(500), ResourceMissing(404), Invalid(422), ForeignObjectError("x")]
)
def test_who_exports_is_told_also_when_the_import_is_refused(refusal: Exception) -> None:
    assert told_of_web(refusal) == ([{"Valid": "True", "Ready": "False", "Conflict": "False"}], refusal)


OLDER_CRD = Invalid(500, message=".status.endpointSliceObjects: field not declared in schema")


def test_a_status_that_an_older_crd_refuses_is_planned_without_the_field_in_that_cluster_alone() -> None:
    async def run() -> tuple[bool, bool, bool]:
        here = Here()
        here.done()
        here.fleet.members[EAST].executor = Executes(here, EAST, OLDER_CRD)  # type: ignore[assignment]
        await here.controller.reconcile(EAST, Work("service", WEB))
        is_tried_again = here.fleet.members[EAST].queue.is_due(Work("service", WEB))
        east, west = (here.controller.observe_target(each, WEB).has_older_crd for each in (EAST, WEST))
        # What was learnt explains no second refusal, which would be tried again for ever.
        with pytest.raises(Invalid):
            await here.controller.reconcile(EAST, Work("service", WEB))
        return is_tried_again, east, west

    assert run_virtual(run()) == (True, True, False)


@pytest.mark.parametrize("passing", [Conflict(409), TooManyRequests(429), Unreachable("no answer")])
def test_nothing_is_told_of_an_import_that_is_tried_again_in_a_moment(passing: Exception) -> None:
    assert told_of_web(passing) == ([], passing)


def test_an_export_whose_import_is_worked_on_again_at_once_is_told_afterwards() -> None:
    refusal = Forbidden(403)
    assert told_of_web(refusal, is_due=True) == ([], refusal)


def test_an_export_that_is_imported_is_told_however_often_its_endpoints_change() -> None:
    told, _ = told_of_web(None, is_due=True)
    assert told == [{"Valid": "True", "Ready": "True", "Conflict": "False"}]


@pytest.mark.parametrize(
    "said",
    [
        {WEIGHT_ANNOTATION: "7"},
        {PREFERENCE_ANNOTATION: "local"},
        {WEIGHT_ANNOTATION: "x"},
        {TRAFFIC_ANNOTATION: "local"},
    ],
)
def test_a_preference_that_an_export_takes_up_touches_every_cluster(said: dict[str, str]) -> None:
    export = ServiceExport(metadata=replace(metadata(WEB, 2), annotations=said))
    assert touched(lambda here: here.cache(EAST, "serviceexports").put(export)) == EVERYWHERE
