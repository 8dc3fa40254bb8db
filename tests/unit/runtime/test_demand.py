"""What is in demand is fetched, however often that fails, and told of once all of it is here."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import suppress
from typing import Any

from mcs.controllers.clusters import REFLECTED, ClusterCaches, reflected
from mcs.kube.decode import Malformed, Page
from mcs.kube.errors import Invalid, KubeError, ServerError, Unreachable
from mcs.model.names import API_SERVER, MANAGED_BY, MANAGED_BY_LABEL, ClusterId, ServiceKey, mirror_name
from mcs.model.selectors import parse_selector
from mcs.runtime.cache import Cache, Delta
from mcs.runtime.demand import Demand
from mcs.testing.builders import WEB, export, service, slice_
from mcs.testing.virtual_time import run_virtual

OTHER = ServiceKey("demo", "other")


class Cluster:
    """A cluster in which `web` and `other` exist and nothing is exported; it answers once `answers` is set."""

    def __init__(self, *errors: KubeError) -> None:
        self.errors = list(errors)
        self.answers = asyncio.Event()
        self.asked: list[tuple[str, str, str]] = []
        self.malformed: tuple[Malformed, ...] = ()
        self.caches: dict[str, Cache[Any]] = {
            each.resource.plural: Cache(each.indexes, each.on_demand) for each in REFLECTED
        }
        self.view = ClusterCaches.of(self.caches)
        self.demand = Demand(self.caches, REFLECTED)
        self.view.services.replace([service(WEB), service(OTHER)])
        self.view.slices.replace([slice_("web-1", key=WEB), slice_("other-1", key=OTHER)])
        self.view.exports.replace([])
        self.demand.begin()
        self.deltas: list[Delta[Any]] = []
        self.view.exports.listen(self.deltas.append)

    async def list_pages(
        self,
        resource: Any,
        *,
        namespace: str = "",
        label_selector: str = "",
        field_selector: str = "",
    ) -> AsyncGenerator[Page[Any], None]:
        self.asked.append((resource.plural, namespace, label_selector or field_selector))
        await self.answers.wait()
        if self.errors:
            raise self.errors.pop(0)
        found = service(WEB) if resource.plural == "services" else slice_("web-1", key=WEB)
        malformed = self.malformed if resource.plural == "services" else ()
        yield Page(() if malformed else (found,), "9", malformed)

    @property
    def held(self) -> set[str]:
        return {each.metadata.name for cache in (self.view.services, self.view.slices) for each in cache}


def engaged(story: Callable[[Cluster], Awaitable[None]], *errors: KubeError) -> None:
    async def main() -> None:
        cluster = Cluster(*errors)
        fetching = asyncio.create_task(cluster.demand.run(cluster, cluster="east"))
        await asyncio.sleep(1)
        await story(cluster)
        fetching.cancel()
        with suppress(asyncio.CancelledError):
            await fetching

    run_virtual(main())


def test_what_is_exported_is_unknown_until_both_lists_are_answered_and_then_told_of_once() -> None:
    async def story(cluster: Cluster) -> None:
        assert not cluster.held
        cluster.view.exports.put(export(WEB))
        cluster.deltas.clear()
        await asyncio.sleep(60)
        assert cluster.view.is_unknown(WEB)
        assert not cluster.view.is_unknown(OTHER)
        assert sorted(cluster.asked) == [
            ("endpointslices", "demo", "kubernetes.io/service-name=web"),
            ("services", "demo", "metadata.name=web"),
        ]
        assert not cluster.deltas
        cluster.answers.set()
        await asyncio.sleep(1)
        assert not cluster.view.is_unknown(WEB)
        assert cluster.held == {"web", "web-1"}
        assert cluster.deltas == [Delta(WEB, None, None)]
        assert cluster.demand.queue.is_idle

    engaged(story)


def test_a_fetch_that_fails_is_tried_again_until_it_does_not() -> None:
    async def story(cluster: Cluster) -> None:
        cluster.answers.set()
        cluster.view.exports.put(export(WEB))
        await asyncio.sleep(0.01)
        assert cluster.view.is_unknown(WEB)
        await asyncio.sleep(60)
        assert not cluster.view.is_unknown(WEB)
        assert cluster.held == {"web", "web-1"}

    engaged(
        story, ServerError(503), Invalid(422), Unreachable("reset"), ServerError(500), Unreachable("reset")
    )


def test_a_cluster_that_is_engaged_again_is_asked_at_once_for_what_it_did_not_answer() -> None:
    async def main() -> None:
        cluster = Cluster(*[Unreachable("reset") for _ in range(1000)])
        cluster.answers.set()
        first = asyncio.create_task(cluster.demand.run(cluster, cluster="east"))
        cluster.view.exports.put(export(WEB))
        await asyncio.sleep(60)
        first.cancel()
        await asyncio.wait([first])
        assert cluster.view.is_unknown(WEB)
        cluster.errors.clear()
        second = asyncio.create_task(cluster.demand.run(cluster, cluster="east"))
        await asyncio.sleep(0.01)
        assert not cluster.view.is_unknown(WEB)
        second.cancel()
        await asyncio.wait([second])

    run_virtual(main())


def test_complete_lists_answer_as_well() -> None:
    async def story(cluster: Cluster) -> None:
        cluster.view.exports.put(export(WEB))
        cluster.deltas.clear()
        cluster.view.services.replace([service(WEB)])
        cluster.demand.settle()
        assert cluster.view.is_unknown(WEB)
        assert not cluster.deltas
        cluster.view.slices.replace([])
        cluster.demand.settle()
        assert not cluster.view.is_unknown(WEB)
        assert cluster.deltas == [Delta(WEB, None, None)]

    engaged(story)


def test_what_nobody_exports_any_more_is_not_kept_and_not_asked_for() -> None:
    async def story(cluster: Cluster) -> None:
        cluster.view.exports.put(export(WEB))
        cluster.view.exports.discard(WEB)
        cluster.answers.set()
        await asyncio.sleep(60)
        assert not cluster.held
        assert not cluster.asked
        assert not cluster.view.is_unknown(WEB)

    engaged(story)


def test_a_name_that_no_label_can_have_is_not_asked_slices_for() -> None:
    async def story(cluster: Cluster) -> None:
        cluster.answers.set()
        long = ServiceKey("demo", "x" * 64)
        cluster.view.exports.put(export(long))
        await asyncio.sleep(1)
        assert [plural for plural, _, _ in cluster.asked] == ["services"]
        assert not cluster.view.is_unknown(long)

    engaged(story)


def test_a_malformed_object_in_an_answer_leaves_the_service_unknown() -> None:
    async def story(cluster: Cluster) -> None:
        cluster.malformed = (Malformed("demo", "web", "no ports", "9"),)
        cluster.answers.set()
        cluster.view.exports.put(export(WEB))
        await asyncio.sleep(1)
        assert cluster.view.is_unknown(WEB)
        assert cluster.view.services.malformed == {WEB: "9"}

    engaged(story)


def test_what_stands_in_a_place_of_ours_or_is_to_be_exported_automatically_is_kept() -> None:
    (services,) = (each.on_demand for each in REFLECTED if each.resource.plural == "services")
    (slices,) = (each.on_demand for each in REFLECTED if each.resource.plural == "endpointslices")
    assert services is not None
    assert slices is not None
    ours = {MANAGED_BY_LABEL: MANAGED_BY}
    assert services.always(service(ServiceKey("demo", "derived-isrlchlhrq")))
    assert services.always(service(WEB, labels=ours))
    assert services.always(service(API_SERVER))
    assert not services.always(service(WEB, labels={"team": "a"}))
    assert slices.always(slice_(mirror_name(ClusterId("east"), WEB, "web-1", "IPv4")))
    assert not slices.always(slice_("web-x7k2p"))
    automatic = next(
        each.on_demand for each in reflected(parse_selector("team=a")) if each.resource.plural == "services"
    )
    assert automatic is not None
    assert automatic.always(service(WEB, labels={"team": "a"}))
    assert automatic.always(service(API_SERVER))
    assert not automatic.always(service(WEB))
