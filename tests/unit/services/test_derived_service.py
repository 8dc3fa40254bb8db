"""The Service that holds the clusterset IPs, over its life, and how the import follows it."""

from typing import Any

import pytest
from msgspec.structs import replace

from mcs.model.actions import Apply, RecordEvent
from mcs.model.multicluster import ServiceImport
from mcs.model.names import (
    DERIVED_SERVICE_ANNOTATION,
    SERVICE_NAME_LABEL,
    SLICE_SERVICE_LABEL,
    ServiceKey,
    derived_service_name,
)
from mcs.model.services import Service
from mcs.services.plan import plan_target
from mcs.testing.builders import (
    WEB,
    at,
    exporter,
    headless,
    observed_target,
    port,
    service,
    slice_,
)
from mcs.testing.simulated_target import (
    SimulatedTarget,
    import_of,
    in_words,
    ready_of,
    settled_target,
    strip_labels,
)

CLUSTERS = ("c1", "c2", "c3")
C2 = exporter("c2", service(), slice_("web-1", "10.2.0.5"))
DUAL = ("IPv4", "IPv6")


def derived_of(target: SimulatedTarget) -> Service:
    assert target.derived is not None
    return target.derived


def test_names_and_labels_of_derived_service_and_import() -> None:
    target = settled_target(C2)
    derived = derived_of(target)
    assert derived.metadata.name == derived_service_name(WEB)
    assert derived.metadata.labels[SERVICE_NAME_LABEL] == "web"
    assert derived.spec.selector == {}
    assert import_of(target).metadata.annotations == {DERIVED_SERVICE_ANNOTATION: derived.metadata.name}
    assert import_of(target).spec.ips == derived.spec.cluster_ips


def test_a_derived_service_of_another_import_whose_name_has_the_same_hash_is_left_alone() -> None:
    target = settled_target(C2)
    labels = {**derived_of(target).metadata.labels, SERVICE_NAME_LABEL: "other"}
    others = replace(derived_of(target), metadata=replace(derived_of(target).metadata, labels=labels))
    for exporters in ((C2,), ()):
        observed = observed_target(*exporters, derived=others, service_import=target.service_import)
        assert "services" not in {
            str(each.resource) for each in plan_target(observed) if not isinstance(each, RecordEvent)
        }
    (status,) = [
        each for each in plan_target(observed_target(C2, derived=others)) if getattr(each, "subresource", "")
    ]
    assert isinstance(status, Apply)
    assert isinstance(status.object, ServiceImport)
    assert "belongs to another import" in status.object.status.conditions[0].message


@pytest.mark.parametrize(
    ("case", "exported", "policy", "families"),
    [
        ("one family is a single stack", service(), "SingleStack", ("IPv4",)),
        ("also IPv6", service(families=("IPv6",)), "SingleStack", ("IPv6",)),
        ("two families are preferred and left to the cluster", service(families=DUAL), "PreferDualStack", ()),
    ],
)
def test_families_of_the_derived_service(
    case: str, exported: Service, policy: str, families: tuple[str, ...]
) -> None:
    (action,) = plan_target(observed_target(exporter("c2", exported)))
    assert isinstance(action, Apply)
    assert action.object.spec.ip_family_policy == policy, case  # type: ignore[attr-defined]
    assert action.object.spec.ip_families == families, case  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("case", "before", "after", "is_replaced"),
    [
        ("a second family is added in place", service(), service(families=DUAL), False),
        ("a second family is given up in place", service(families=DUAL), service(), False),
        (
            "the first family cannot change in place",
            service(families=DUAL),
            service(families=("IPv6",)),
            True,
        ),
        ("another single family is another Service", service(), service(families=("IPv6",)), True),
    ],
)
def test_changing_families(case: str, before: Service, after: Service, is_replaced: bool) -> None:
    target = settled_target(exporter("c2", before))
    old = derived_of(target)
    actions = target.plan(exporter("c2", after))
    assert ("delete services" in in_words(actions)) is is_replaced, case
    assert target.rounds_to_rest([exporter("c2", after)], CLUSTERS, at(200)) <= 3
    assert (derived_of(target).metadata.uid != old.metadata.uid) is is_replaced, case
    assert import_of(target).spec.ips == derived_of(target).spec.cluster_ips, case
    if not is_replaced:
        assert import_of(target).spec.ips[0] == old.spec.cluster_ips[0], case


def test_b18_on_a_single_stack_cluster_two_families_become_its_one() -> None:
    target = settled_target(exporter("c2", service(families=DUAL)), families=("IPv4",))
    assert import_of(target).spec.ip_families == ("IPv4",)
    assert len(import_of(target).spec.ips) == 1


SIX = ("IPv6",)
NOT_SUPPORTED = ("False", "IPFamilyNotSupported")


def target_of(*families: str) -> SimulatedTarget:
    """A cluster of these families in which Services have been seen of the first one only."""
    target = SimulatedTarget("c1", WEB, families)
    target.known_families = frozenset(families[:1])
    return target


def test_b18_a_family_that_the_target_lacks_is_told_and_not_asked_for_again() -> None:
    target = target_of("IPv4")
    six = exporter("c2", service(families=SIX))
    assert target.rounds_to_rest([six], CLUSTERS, at(100)) <= 2
    assert (ready_of(target).status, ready_of(target).reason) == NOT_SUPPORTED
    assert (target.derived, import_of(target).spec.ips) == (None, ())
    assert [event.reason for event in target.events] == ["IPFamilyNotSupported"]
    assert target.plan(six) == ()


def test_a_family_that_no_service_of_the_target_has_had_yet_is_found_out_by_asking_for_two() -> None:
    target = target_of("IPv4", "IPv6")
    six = exporter("c2", service(families=SIX))
    assert in_words(target.plan(six)) == ["apply services"]
    assert target.rounds_to_rest([six], CLUSTERS, at(100)) <= 3
    assert (ready_of(target).status, import_of(target).spec.ip_families) == ("True", SIX)
    assert derived_of(target).spec.ip_family_policy == "SingleStack"


def test_a_family_that_a_headless_service_had_before_is_found_out_all_the_same() -> None:
    target = target_of("IPv4", "IPv6")
    target.rounds_to_rest([exporter("c2", headless(families=SIX))], CLUSTERS, at(100))
    assert ready_of(target).status == "True"
    target.rounds_to_rest([exporter("c2", service(families=SIX))], CLUSTERS, at(200))
    assert (ready_of(target).status, import_of(target).spec.ip_families) == ("True", SIX)


def test_a_family_that_the_target_gets_later_is_used_then() -> None:
    target = target_of("IPv4")
    six = exporter("c2", service(families=SIX))
    target.rounds_to_rest([six], CLUSTERS, at(100))
    target.families = target.families + SIX
    target.known_families = frozenset(target.families)
    target.rounds_to_rest([six], CLUSTERS, at(200))
    assert (ready_of(target).status, import_of(target).spec.ip_families) == ("True", SIX)
    assert target.events[-1].reason == "Ready"


def test_two_families_are_asked_for_although_services_were_seen_of_one_only() -> None:
    target = target_of("IPv4", "IPv6")
    target.rounds_to_rest([exporter("c2", service(families=DUAL))], CLUSTERS, at(100))
    assert import_of(target).spec.ip_families == DUAL


def test_a_service_that_becomes_headless_gives_up_its_derived_service() -> None:
    target = settled_target(C2)
    after = exporter("c2", headless(), slice_("web-1", "10.2.0.5"))
    assert in_words(target.plan(after)) == [
        "apply endpointslices",
        "apply serviceimports",
        "event TypeChanged",
        "delete services",
    ]
    target.rounds_to_rest([after], CLUSTERS, at(200))
    assert import_of(target).spec.ips == ()
    assert all(SLICE_SERVICE_LABEL not in each.metadata.labels for each in target.mirrors)


def test_addresses_that_come_later_are_waited_for() -> None:
    target = settled_target(C2)
    derived = derived_of(target)
    bare = replace(derived, spec=replace(derived.spec, cluster_ip="", cluster_ips=()))
    observed = observed_target(C2, derived=bare)
    assert "apply serviceimports" not in in_words(plan_target(observed))


def test_a_derived_service_that_vanished_comes_back_and_the_import_follows_its_address() -> None:
    target = settled_target(C2)
    name = derived_of(target).metadata.name
    del target.objects["services", name]
    assert in_words(target.plan(C2)) == ["apply services"]
    target.rounds_to_rest([C2], CLUSTERS, at(200))
    assert import_of(target).spec.ips == derived_of(target).spec.cluster_ips


def test_a_derived_service_that_is_going_is_waited_for() -> None:
    target = settled_target(C2)
    derived = derived_of(target)
    target.put("services", replace(derived, metadata=replace(derived.metadata, deletion_timestamp=at(150))))
    assert target.plan(C2) == ()


def test_a_service_of_somebody_else_under_the_derived_name_is_left_alone_and_the_import_says_so() -> None:
    target = settled_target(C2)
    was = import_of(target).spec.ips
    strip_labels(target, "services")
    actions = target.plan(C2)
    assert in_words(actions) == [
        "apply endpointslices",
        "apply serviceimports/status",
        "event DerivedServiceNameTaken",
    ]
    target.carry_out(actions)
    assert (ready_of(target).status, ready_of(target).reason) == ("False", "Pending")
    assert "rename or delete it" in ready_of(target).message
    assert import_of(target).spec.ips == was
    assert all(SLICE_SERVICE_LABEL not in each.metadata.labels for each in target.mirrors)
    assert in_words(target.plan()) == ["delete endpointslices", "delete serviceimports"]


def test_a_foreign_derived_service_is_told_of_also_when_there_is_no_import_yet() -> None:
    theirs = service(ServiceKey("demo", derived_service_name(WEB)))
    target = SimulatedTarget("c1", WEB)
    target.put("services", theirs)
    assert target.rounds_to_rest([C2], CLUSTERS, at(100)) == 1
    assert import_of(target).spec.ips == ()
    assert ready_of(target).status == "False"


@pytest.mark.parametrize(
    ("case", "changed"),
    [
        ("ports", service(WEB, "http 81")),
        ("an appProtocol", service(WEB, port("http 80", "http"))),
        ("affinity", service(affinity_seconds=10)),
        ("the traffic policy", service(internal="Local")),
        ("the distribution", service(distribution="PreferClose")),
    ],
)
def test_derived_service_and_import_follow_a_change_of(case: str, changed: Service) -> None:
    target = settled_target(C2)
    ips = import_of(target).spec.ips
    after = exporter("c2", changed, slice_("web-1", "10.2.0.5"))
    assert in_words(target.plan(after)) == ["apply services", "apply serviceimports"], case
    target.rounds_to_rest([after], CLUSTERS, at(200))
    assert import_of(target).spec.ips == ips, case


@pytest.mark.parametrize(
    ("case", "plural", "change"),
    [
        ("derived ports", "services", {"ports": ()}),
        ("the derived Service's affinity", "services", {"session_affinity": "ClientIP"}),
        ("the import's ports", "serviceimports", {"ports": ()}),
        ("the import's addresses", "serviceimports", {"ips": ("10.9.9.9",)}),
        ("the import's type", "serviceimports", {"type": "Headless"}),
    ],
)
def test_what_somebody_changed_by_hand_is_put_right(case: str, plural: str, change: dict[str, Any]) -> None:
    target = settled_target(C2)
    obj = target.derived if plural == "services" else target.service_import
    assert obj is not None
    target.put(plural, replace(obj, spec=replace(obj.spec, **change)))
    assert in_words(target.plan(C2)) == [f"apply {plural}"], case


def test_a_service_without_a_port_that_can_be_imported_says_so() -> None:
    target = settled_target(exporter("c2", service(WEB, "http 0")))
    assert target.derived is None
    assert ready_of(target).reason == "Pending"
