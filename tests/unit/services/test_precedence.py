"""Precedence "first-seen": who was there first decides, whatever the others say of their age (E12 and F)."""

from __future__ import annotations

import dataclasses
import itertools

import pytest
from msgspec.structs import replace

from mcs.model.actions import Apply
from mcs.model.meta import ObjectMeta
from mcs.model.multicluster import ServiceImport
from mcs.model.names import MANAGED_BY, MANAGED_BY_LABEL, PRECEDENCE_ANNOTATION, ClusterId
from mcs.model.policy import Policy
from mcs.model.services import Service
from mcs.services.exports import desired_conditions
from mcs.services.observed import Exporter
from mcs.services.plan import plan_target
from mcs.services.precedence import order_of_most, remembered_order
from mcs.testing.builders import WEB, at, exporter, observed_export, service, slice_
from mcs.testing.simulated_target import SimulatedTarget

CLUSTERS = ("c1", "c2", "c3")
FIRST_SEEN = Policy(precedence="first-seen")
HONEST = exporter("c1", service(WEB, "http 80"), slice_("web-1", "10.1.0.1"), created=50)
BACKDATED = exporter("c2", service(WEB, "http 666"), slice_("web-1", "10.2.0.1"), created=-9999)
LATER = exporter("c3", service(WEB, "http 90"), slice_("web-1", "10.3.0.1"), created=60)


def target_of(policy: Policy = FIRST_SEEN) -> SimulatedTarget:
    target = SimulatedTarget("c3", WEB)
    target.policy = policy
    return target


def port_of(target: SimulatedTarget) -> int:
    assert target.service_import is not None
    return target.service_import.spec.ports[0].port


def after(*steps: tuple[Exporter, ...], policy: Policy = FIRST_SEEN) -> SimulatedTarget:
    target = target_of(policy)
    for number, each in enumerate(steps):
        target.rounds_to_rest(each, CLUSTERS, at(100 + number))
    return target


@pytest.mark.parametrize(
    ("case", "policy", "steps", "port"),
    [
        ("oldest: a back-dated export takes over", Policy(), ((HONEST,), (HONEST, BACKDATED)), 666),
        ("first-seen: it does not", FIRST_SEEN, ((HONEST,), (HONEST, BACKDATED)), 80),
        ("of those that come at once the oldest decides", FIRST_SEEN, ((LATER, HONEST),), 80),
        (
            "when the first goes, the second to come decides",
            FIRST_SEEN,
            ((HONEST,), (HONEST, LATER), (LATER, BACKDATED)),
            90,
        ),
        (
            "who comes again comes last",
            FIRST_SEEN,
            ((HONEST,), (HONEST, LATER), (LATER,), (LATER, HONEST)),
            90,
        ),
    ],
)
def test_who_decides(case: str, policy: Policy, steps: tuple[tuple[Exporter, ...], ...], port: int) -> None:
    assert port_of(after(*steps, policy=policy)) == port, case


def test_the_import_remembers_it_for_a_restart_and_a_second_controller_and_is_at_rest() -> None:
    target = after((HONEST,), (HONEST, BACKDATED))
    assert target.service_import is not None
    assert target.service_import.metadata.annotations[PRECEDENCE_ANNOTATION] == "c1,c2"
    for exported in itertools.permutations((HONEST, BACKDATED)):
        assert plan_target(target.observed(exported, CLUSTERS, at(300))) == ()


def test_without_the_policy_nothing_is_remembered_and_what_was_is_taken_back() -> None:
    target = after((HONEST,))
    target.policy = Policy()
    target.rounds_to_rest((HONEST,), CLUSTERS, at(200))
    assert target.service_import is not None
    assert PRECEDENCE_ANNOTATION not in target.service_import.metadata.annotations


def test_who_decides_keeps_its_place_while_it_is_not_seen() -> None:
    target = after((HONEST,), (HONEST, BACKDATED))
    target.rounds_to_rest((BACKDATED,), ("c2", "c3"), at(200))
    assert port_of(target) == 80
    target.rounds_to_rest((HONEST, BACKDATED), CLUSTERS, at(300))
    assert port_of(target) == 80


def test_one_that_does_not_decide_freezes_nothing_by_not_being_seen() -> None:
    target = after((HONEST,), (HONEST, BACKDATED))
    changed = exporter("c1", service(WEB, "http 81"), slice_("web-1", "10.1.0.1"), created=50)
    target.rounds_to_rest((changed,), ("c1", "c3"), at(200))
    assert port_of(target) == 81


def _import(order: str, *, is_ours: bool = True) -> ServiceImport:
    labels = {MANAGED_BY_LABEL: MANAGED_BY} if is_ours else {}
    return ServiceImport(
        metadata=ObjectMeta(
            name="web", namespace="demo", labels=labels, annotations={PRECEDENCE_ANNOTATION: order}
        )
    )


@pytest.mark.parametrize(
    ("case", "orders", "found"),
    [
        ("none remembers anything", [], ()),
        ("what most remember", ["c1,c2", "c2,c1", "c1,c2"], ("c1", "c2")),
        ("of equally many the first by name", ["c2,c1", "c1,c2"], ("c1", "c2")),
        ("an empty one is no vote", ["", "", "c2"], ("c2",)),
    ],
)
def test_a_newcomer_takes_the_order_that_most_others_remember(
    case: str, orders: list[str], found: tuple[str, ...]
) -> None:
    assert order_of_most([_import(each) for each in orders]) == found, case


def test_a_newcomer_is_not_flipped_either() -> None:
    observed = target_of().observed((HONEST, BACKDATED), CLUSTERS, at(200))
    observed = dataclasses.replace(observed, order_elsewhere=(ClusterId("c1"),))
    ports = {
        each.object.spec.ports[0].port
        for each in plan_target(observed)
        if isinstance(each, Apply) and isinstance(each.object, Service)
    }
    assert ports == {80}


def test_an_import_of_somebody_else_remembers_nothing_and_names_count_once() -> None:
    assert remembered_order(_import("c1", is_ours=False)) == ()
    assert remembered_order(_import("c2,c1,c2,")) == ("c2", "c1")


def test_the_conflict_names_the_export_that_decides() -> None:
    for policy, named in (
        (FIRST_SEEN, 'first seen service export, "c1"'),
        (Policy(), 'oldest service export, "c2"'),
    ):
        observed = observed_export(HONEST, BACKDATED, cluster="c1", listed="c1 c2")
        assert observed.own_import is not None
        own_import = replace(observed.own_import, metadata=_import("c1,c2").metadata)
        observed = dataclasses.replace(observed, policy=policy, own_import=own_import)
        conflict = next(each for each in desired_conditions(observed, HONEST) if each.type == "Conflict")
        assert named in conflict.message
