"""Hints of mirrors: where a Service's trafficDistribution says that clients should prefer an endpoint."""

import pytest

from mcs.model.actions import Apply
from mcs.model.names import ClusterId
from mcs.model.resources import SERVICES
from mcs.model.slices import Endpoint, EndpointHints, ForNode, ForZone
from mcs.services.topology import Distribution, hints, refused_distributions
from mcs.testing.builders import WEB, at, endpoint, exporter, headless, service, slice_
from mcs.testing.simulated_target import SimulatedTarget, import_of, in_words, settled_target

ZONED = endpoint("10.2.0.5", zone="z1", node="n1")


def hinted(zone: str = "", node: str = "") -> EndpointHints:
    return EndpointHints(
        for_zones=(ForZone(name=zone),) if zone else None, for_nodes=(ForNode(name=node),) if node else None
    )


@pytest.mark.parametrize(
    ("case", "value", "subject", "is_local", "knows_nodes", "wanted"),
    [
        ("no distribution, no hint", None, ZONED, True, True, None),
        ("PreferClose hints the zone", "PreferClose", ZONED, False, True, hinted("z1")),
        ("PreferSameZone too", "PreferSameZone", ZONED, True, True, hinted("z1")),
        ("PreferSameNode hints node and zone", "PreferSameNode", ZONED, True, True, hinted("z1", "n1")),
        (
            "a node elsewhere is none of ours, whatever its name",
            "PreferSameNode",
            ZONED,
            False,
            True,
            hinted("z1", "n1.c2"),
        ),
        (
            "without a zone the node alone",
            "PreferSameNode",
            endpoint("10.2.0.5", node="n1"),
            True,
            True,
            hinted("", "n1"),
        ),
        (
            "a target that knows no hints for nodes gets zones",
            "PreferSameNode",
            ZONED,
            True,
            False,
            hinted("z1"),
        ),
        ("what has no zone has no hint", "PreferClose", endpoint("10.2.0.5", node="n1"), True, True, None),
        (
            "nor what is not ready",
            "PreferClose",
            endpoint("10.2.0.5", ready=False, zone="z1"),
            True,
            True,
            None,
        ),
        (
            "unknown readiness counts as ready",
            "PreferClose",
            endpoint("10.2.0.5", ready=None, zone="z1"),
            True,
            True,
            hinted("z1"),
        ),
        (
            "a name that would be too long is no hint",
            "PreferSameNode",
            endpoint("10.2.0.5", node="n" * 252),
            False,
            True,
            None,
        ),
    ],
)
def test_hints(
    case: str,
    value: str | None,
    subject: Endpoint,
    is_local: bool,
    knows_nodes: bool,
    wanted: EndpointHints | None,
) -> None:
    found = hints(subject, ClusterId("c2"), Distribution(value, knows_nodes), is_local=is_local)
    assert found == wanted, case


def hints_in(distribution: str | None, *, is_headless: bool = False) -> list[EndpointHints | None]:
    exported = headless() if is_headless else service(distribution=distribution)
    target = settled_target(exporter("c2", exported, slice_("web-1", ZONED)))
    return [each.hints for mirror in target.mirrors for each in mirror.endpoints or ()]


def test_mirrors_carry_the_hints_of_the_distribution_that_the_import_has() -> None:
    assert hints_in("PreferClose") == [hinted("z1")]
    assert hints_in(None) == [None]


def test_a_headless_service_is_not_routed_and_has_no_hints() -> None:
    assert hints_in("PreferClose", is_headless=True) == [None]


def test_a_distribution_that_the_target_refuses_is_left_out_told_once_and_remembered_by_the_import() -> None:
    exported = exporter("c2", service(distribution="PreferSameNode"), slice_("web-1", ZONED))
    target = SimulatedTarget("c1", WEB)
    target.refused_distributions = frozenset({"PreferSameNode"})
    target.rounds_to_rest([exported], ("c1", "c2", "c3"), at(200))
    assert target.derived is not None
    assert target.derived.spec.traffic_distribution is None
    assert import_of(target).spec.traffic_distribution == "PreferSameNode"
    said = {each.type: (each.status, each.reason) for each in import_of(target).status.conditions}
    assert said == {"Ready": ("True", "Ready"), "TrafficDistributionSupported": ("False", "NotSupported")}
    assert [event.reason for event in target.events] == ["TrafficDistributionNotSupported"]
    assert [each.hints for mirror in target.mirrors for each in mirror.endpoints or ()] == [hinted("z1")]

    target.refused_distributions = frozenset()
    assert target.plan(exported) == ()
    other = exporter("c2", service(distribution="PreferClose"), slice_("web-1", ZONED))
    assert in_words(target.plan(other)) == [
        "apply services",
        "apply serviceimports",
        "apply serviceimports/status",
    ]


DERIVED = Apply(cluster=ClusterId("c1"), resource=SERVICES, object=service(distribution="PreferSameZone"))


@pytest.mark.parametrize(
    ("case", "refusal", "refused"),
    [
        (
            "an older API server",
            '422 Invalid: spec.trafficDistribution: Unsupported value: "PreferSameZone"',
            {"PreferSameZone"},
        ),
        (
            "one that does not know hints for nodes",
            "500: failed to create typed patch object: .endpoints[0].hints.forNodes: field not declared in schema",
            {"PreferSameNode"},
        ),
        ("any other refusal", "422 Invalid: spec.ports: Required value", set()),
    ],
)
def test_what_a_refusal_tells_of_distributions(case: str, refusal: str, refused: set[str]) -> None:
    assert refused_distributions([DERIVED], refusal) == refused, case
