"""Laws of `plan_target`, over whatever a clusterset may export and whatever the target held before."""

import dataclasses
from collections.abc import Sequence
from ipaddress import ip_address
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from mcs.model.actions import Apply, Delete, RecordEvent
from mcs.model.meta import ObjectMeta
from mcs.model.multicluster import ImportCluster, ServiceExport, ServiceImport
from mcs.model.names import (
    CHANGE_TIME_ANNOTATION,
    EXPORT_TO_ANNOTATION,
    MANAGED_BY_LABEL,
    SLICE_MANAGED_BY_LABEL,
    SOURCE_CLUSTER_LABEL,
)
from mcs.model.slices import EndpointSlice
from mcs.services.observed import Exporter, NodeZones
from mcs.services.plan import plan_target
from mcs.services.selection import exports_to
from mcs.testing.builders import WEB, at, exporter, service, slice_
from mcs.testing.simulated_target import SimulatedTarget
from mcs.testing.worlds import CLUSTERS, exporters

Exporters = tuple[Exporter, ...]
SEEN = st.sets(st.sampled_from(CLUSTERS)).map(lambda seen: sorted(seen | {"c1"}))


def held_after(*exported: Exporters, families: tuple[str, ...] = ("IPv4", "IPv6")) -> SimulatedTarget:
    """c1 after each of `exported` was true for long enough."""
    target = SimulatedTarget("c1", WEB, families)
    target.zones = NodeZones(("z1",), has_nodes_without=True)
    for number, each in enumerate(exported):
        target.rounds_to_rest(each, CLUSTERS, at(100 + number))
    return target


def meaning(target: SimulatedTarget) -> dict[Any, Any]:
    """What the target says, without what the server or the moment adds.

    The order of two families is left out too: the first address of a Service cannot change while it lives.
    """
    return {kept: _meaning(obj) for kept, obj in target.objects.items()}


def _meaning(obj: Any) -> Any:
    metadata = obj.metadata
    annotations = {key: value for key, value in metadata.annotations.items() if key != CHANGE_TIME_ANNOTATION}
    obj = replace(obj, metadata=ObjectMeta(labels=metadata.labels, annotations=annotations))
    if isinstance(obj, ServiceImport):
        conditions = tuple(replace(each, last_transition_time="") for each in obj.status.conditions)
        families = tuple(sorted(obj.spec.ip_families))
        ips = families if obj.spec.ips else ()
        obj = replace(obj, spec=replace(obj.spec, ips=ips, ip_families=families))
        return replace(obj, status=replace(obj.status, conditions=conditions))
    if isinstance(obj, EndpointSlice):
        return obj
    families = tuple(sorted(obj.spec.ip_families))
    return replace(obj, spec=replace(obj.spec, cluster_ip="", cluster_ips=(), ip_families=families))


@given(exporters(), exporters())
def test_a_plan_carried_out_leaves_nothing_to_plan(before: Exporters, after: Exporters) -> None:
    target = held_after(before)

    assert target.rounds_to_rest(after, CLUSTERS, at(200)) <= 3
    assert plan_target(target.observed(after, CLUSTERS, at(300))) == ()


@given(exporters(), exporters())
def test_what_was_before_does_not_show_in_what_is_now(before: Exporters, after: Exporters) -> None:
    assert meaning(held_after(before, after)) == meaning(held_after(after))


@given(exporters(), exporters(), st.randoms(use_true_random=False))
def test_the_order_of_arrival_does_not_matter(before: Exporters, after: Exporters, random: Any) -> None:
    target = held_after(before)
    shuffled = list(after)
    random.shuffle(shuffled)

    assert plan_target(target.observed(after, CLUSTERS, at(200))) == plan_target(
        target.observed(shuffled, reversed(CLUSTERS), at(200))
    )


@given(exporters(), exporters(), SEEN)
def test_a_cluster_that_cannot_be_seen_loses_nothing(
    before: Exporters, after: Exporters, seen: Sequence[str]
) -> None:
    target = held_after(before)
    was = dict(target.objects)
    old_import = target.service_import
    listed = {each.cluster for each in old_import.status.clusters} if old_import else set()

    target.rounds_to_rest(after, seen, at(200))

    for kept, obj in was.items():
        if isinstance(obj, EndpointSlice) and obj.source_cluster not in seen:
            assert target.objects.get(kept) == obj
    if old_import and not listed <= set(seen):
        new_import = target.service_import
        assert new_import is not None
        assert new_import.metadata.uid == old_import.metadata.uid
        assert {each.cluster for each in new_import.status.clusters} >= listed - set(seen)
        assert set(new_import.spec.ports) >= set(old_import.spec.ports)
        assert new_import.spec.type == old_import.spec.type
        assert new_import.spec.ips == old_import.spec.ips
        assert new_import.metadata.labels.items() >= old_import.metadata.labels.items()


@given(exporters(), exporters(), SEEN)
def test_what_comes_while_a_cluster_is_not_seen_settles_too(
    before: Exporters, after: Exporters, seen: Sequence[str]
) -> None:
    assert held_after(before).rounds_to_rest(after, seen, at(200)) <= 3


@given(exporters())
def test_an_empty_registry_deletes_nothing(before: Exporters) -> None:
    target = held_after(before)
    assert plan_target(target.observed((), (), at(200))) == ()


@given(exporters(), exporters(), SEEN)
def test_what_an_unseen_cluster_is_said_to_export_does_not_count(
    before: Exporters, after: Exporters, seen: Sequence[str]
) -> None:
    target = held_after(before)
    of_seen = tuple(each for each in after if each.cluster in seen)

    assert plan_target(target.observed(after, seen, at(200))) == plan_target(
        target.observed(of_seen, seen, at(200))
    )


@given(exporters(), exporters(), st.data())
def test_only_what_is_ours_is_written_or_deleted(
    before: Exporters, after: Exporters, data: st.DataObject
) -> None:
    target = held_after(before)
    foreign = data.draw(st.sets(st.sampled_from(sorted(target.objects)))) if target.objects else set()
    for kept in foreign:
        obj = target.objects[kept]
        dropped = data.draw(st.sampled_from([MANAGED_BY_LABEL, SLICE_MANAGED_BY_LABEL]))
        dropped = dropped if isinstance(obj, EndpointSlice) else MANAGED_BY_LABEL
        labels = {key: value for key, value in obj.metadata.labels.items() if key != dropped}
        target.put(kept[0], replace(obj, metadata=replace(obj.metadata, labels=labels)))

    for action in plan_target(target.observed(after, CLUSTERS, at(200))):
        match action:
            case Apply():
                assert (action.resource.plural, action.object.metadata.name) not in foreign
            case Delete():
                assert (action.resource.plural, action.name) not in foreign


@given(exporters())
def test_every_mirror_holds_the_endpoints_of_one_cluster_and_names_it(exported: Exporters) -> None:
    for mirror in held_after(exported).mirrors:
        number = mirror.metadata.labels[SOURCE_CLUSTER_LABEL][1:]
        for each in mirror.endpoints or ():
            assert all(address.startswith((f"10.{number}.", f"fd00:{number}:")) for address in each.addresses)


@given(exporters())
def test_every_publishable_endpoint_of_every_exporter_is_mirrored_once(exported: Exporters) -> None:
    target = held_after(exported)
    listed = (
        {each.cluster for each in target.service_import.status.clusters} if target.service_import else set()
    )

    mirrored = [
        address for each in target.mirrors for one in each.endpoints or () for address in one.addresses
    ]
    assert sorted(mirrored) == sorted(
        str(ip_address(address))
        for exporter in exported
        if exporter.cluster in listed
        for source in exporter.slices
        if source.address_type in ("IPv4", "IPv6")
        for one in source.endpoints or ()
        for address in one.addresses
        if address.startswith("10." if source.address_type == "IPv4" else "fd00:")
    )


@given(exporters())
def test_port_names_of_mirrors_are_those_of_the_derived_service(exported: Exporters) -> None:
    target = held_after(exported)
    if target.derived is None:
        return
    names = {port.name for port in target.derived.spec.ports}
    for mirror in target.mirrors:
        assert {port.name or "" for port in mirror.ports or ()} <= names


@given(exporters(), st.sampled_from([("IPv4",), ("IPv4", "IPv6"), ("IPv6", "IPv4")]))
def test_addresses_and_families_of_an_import_correspond(
    exported: Exporters, families: tuple[str, ...]
) -> None:
    exported = tuple(
        each
        for each in exported
        if each.service is None or set(each.service.spec.ip_families) & set(families[:1])
    )
    found = held_after(exported, families=families).service_import
    if found is None:
        return
    assert len(set(found.spec.ip_families)) == len(found.spec.ip_families) > 0
    if found.spec.type == "Headless":
        assert found.spec.ips == ()
    else:
        assert [("IPv6" if ":" in ip else "IPv4") for ip in found.spec.ips] == list(found.spec.ip_families)


@given(exporters(), exporters(), st.sampled_from(["absent", "terminating"]))
def test_nothing_is_planned_where_the_namespace_is_not(
    before: Exporters, after: Exporters, phase: Any
) -> None:
    target = held_after(before)
    assert plan_target(target.observed(after, CLUSTERS, at(200), namespace=phase)) == ()


@pytest.mark.parametrize("foreign", ["label", "annotation"])
@given(exporters(), exporters())
def test_labels_of_others_on_our_objects_do_not_keep_us_writing(
    foreign: str, before: Exporters, after: Exporters
) -> None:
    target = held_after(before)
    for (plural, _), obj in list(target.objects.items()):
        metadata = obj.metadata
        if foreign == "label":
            metadata = replace(metadata, labels={**metadata.labels, "theirs": "1"})
        else:
            metadata = replace(metadata, annotations={**metadata.annotations, "theirs": "1"})
        target.put(plural, replace(obj, metadata=metadata))
    assert plan_target(target.observed(before, CLUSTERS, at(200))) == ()
    assert target.rounds_to_rest(after, CLUSTERS, at(200)) <= 3


def test_the_laws_speak_of_worlds_that_differ() -> None:
    """A guard: the simulated target really holds something when a cluster exports."""
    target = held_after((exporter("c2", service(), slice_("web-1", "10.2.0.1")),))
    assert target.service_import is not None
    assert target.service_import.status.clusters == (ImportCluster(cluster="c2"),)
    assert sorted(plural for plural, _ in target.objects) == ["endpointslices", "serviceimports", "services"]


TO = st.sampled_from([None, "", "c1", "c2", "c2,c3", "c9", " c1 , c3"])


@given(exporters(), exporters(), st.lists(TO, min_size=3, max_size=3))
def test_an_export_that_is_not_for_a_cluster_does_not_count_there(
    before: Exporters, after: Exporters, limits: list[str | None]
) -> None:
    target = held_after(before)
    limited = tuple(
        dataclasses.replace(each, export=limited_to(each.export, to))
        for each, to in zip(after, limits, strict=False)
    )
    meant = tuple(each for each in limited if exports_to(each, target.target))

    assert plan_target(target.observed(limited, CLUSTERS, at(200))) == plan_target(
        target.observed(meant, CLUSTERS, at(200))
    )
    assert target.rounds_to_rest(limited, CLUSTERS, at(200)) <= 3
    assert plan_target(target.observed(limited, CLUSTERS, at(300))) == ()


def limited_to(subject: ServiceExport, to: str | None) -> ServiceExport:
    annotations = {} if to is None else {EXPORT_TO_ANNOTATION: to}
    return replace(subject, metadata=replace(subject.metadata, annotations=annotations))


@given(exporters(), exporters())
def test_an_event_tells_only_of_what_is_written(before: Exporters, after: Exporters) -> None:
    target = held_after(before)
    actions = plan_target(target.observed(after, CLUSTERS, at(200)))

    written = [each for each in actions if isinstance(each, Apply) and each.resource.kind == "ServiceImport"]
    for number, action in enumerate(actions):
        if isinstance(action, RecordEvent):
            assert action.object.involved_object.kind == "ServiceImport"
            assert any(each in written for each in actions[:number])


@given(exporters(), exporters(), st.sampled_from([("IPv4",), ("IPv4", "IPv6"), ("IPv6", "IPv4")]))
def test_where_services_were_seen_of_one_family_the_others_are_found_out_and_that_comes_to_rest(
    before: Exporters, after: Exporters, families: tuple[str, ...]
) -> None:
    target = SimulatedTarget("c1", WEB, families)
    target.known_families = frozenset(families[:1])
    for number, exported in enumerate((before, after)):
        target.rounds_to_rest(exported, CLUSTERS, at(100 + number))

    assert plan_target(target.observed(after, CLUSTERS, at(300))) == ()
    found = target.service_import
    if found is not None and set(found.spec.ip_families) <= set(families) and found.spec.ports:
        (ready, *_) = found.status.conditions
        if found.spec.type == "ClusterSetIP":
            assert (ready.status, bool(found.spec.ips)) == ("True", True)
