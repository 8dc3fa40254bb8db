"""Traffic preference of a virtual IP: the hints that kube-proxy follows, and what is told where it does not."""

import pytest

from mcs.model.names import ClusterId
from mcs.model.preference import TRAFFIC_ANNOTATION, TrafficPreference
from mcs.model.slices import Endpoint
from mcs.services.observed import Exporter, NodeZones
from mcs.services.preference import unheeded_in
from mcs.services.topology import NOWHERE, Distribution, hints
from mcs.testing.builders import WEB, endpoint, export, exporter, headless, service, slice_
from mcs.testing.kube_proxy import used_endpoints
from mcs.testing.simulated_clusterset import SimulatedClusterset
from mcs.testing.simulated_target import SimulatedTarget, import_of, in_words

ZONES = NodeZones(("z1", "z2"))
ZONED = endpoint("10.2.0.5", zone="z7", node="n1")
UNZONED = endpoint("10.2.0.5", node="n1")
GONE = endpoint("10.2.0.5", ready=False, zone="z7", node="n1")


@pytest.mark.parametrize(
    ("case", "preference", "subject", "is_local", "zones", "nodes"),
    [
        ("local: own endpoints are for all zones", "local", ZONED, True, ["z1", "z2"], []),
        ("local: foreign ones for none", "local", ZONED, False, [NOWHERE], []),
        ("local: also without a zone of their own", "local", UNZONED, True, ["z1", "z2"], []),
        ("remote: own endpoints are for no zone", "remote", ZONED, True, [NOWHERE], []),
        ("remote: foreign ones for all", "remote", ZONED, False, ["z1", "z2"], []),
        ("zone: each is for its own", "zone", ZONED, False, ["z7"], []),
        ("zone: one in none keeps nobody from preferring others", "zone", UNZONED, True, [NOWHERE], []),
        ("none: no hints", "none", ZONED, True, [], []),
        ("what is not ready has no hints", "local", GONE, True, [], []),
        ("nor under zone", "zone", GONE, True, [], []),
    ],
)
@pytest.mark.parametrize("distribution", [None, "PreferClose", "PreferSameZone"])
def test_a_preference_decides_the_zones_whatever_the_distribution(
    case: str,
    preference: TrafficPreference,
    subject: Endpoint,
    is_local: bool,
    zones: list[str],
    nodes: list[str],
    distribution: str | None,
) -> None:
    assert hinted(preference, subject, is_local, distribution) == (zones, nodes), case


@pytest.mark.parametrize(
    ("preference", "is_local", "zones", "nodes"),
    [
        ("local", True, ["z1", "z2"], ["n1"]),
        ("local", False, [NOWHERE], ["n1.c2"]),
        ("zone", True, ["z7"], ["n1"]),
        ("remote", True, [NOWHERE], []),
        ("none", True, [], []),
    ],
)
def test_prefer_same_node_keeps_its_nodes_where_they_are_among_those_preferred(
    preference: TrafficPreference, is_local: bool, zones: list[str], nodes: list[str]
) -> None:
    assert hinted(preference, ZONED, is_local, "PreferSameNode") == (zones, nodes)


@pytest.mark.parametrize("preference", ["local", "remote"])
def test_unknown_zones_hint_nothing(preference: TrafficPreference) -> None:
    for is_local in (True, False):
        assert hinted(preference, ZONED, is_local, None, zones=()) == ([], [])


def test_of_more_zones_than_fit_the_first_are_hinted() -> None:
    many = tuple(f"z{number}" for number in range(10))
    assert hinted("local", ZONED, True, None, zones=many) == (list(many[:8]), [])


def hinted(
    preference: TrafficPreference,
    subject: Endpoint,
    is_local: bool,
    distribution: str | None,
    zones: tuple[str, ...] = ZONES.names,
) -> tuple[list[str], list[str]]:
    said = Distribution(distribution, preference=preference, zones=zones)
    found = hints(subject, ClusterId("c2"), said, is_local=is_local)
    if found is None:
        return [], []
    return [each.name for each in found.for_zones or ()], [each.name for each in found.for_nodes or ()]


TOO_MANY = NodeZones(tuple(f"z{number}" for number in range(10)))


@pytest.mark.parametrize(
    ("case", "preference", "zones", "has_own", "reason", "told"),
    [
        ("nothing preferred", None, None, True, "", ""),
        ("no hints asked for", "none", None, True, "", ""),
        ("all nodes have a zone", "local", ZONES, True, "", ""),
        ("nodes may not be read", "local", None, True, "NodesUnknown", "grant list and watch of nodes"),
        ("the other way too", "remote", None, True, "NodesUnknown", "all endpoints are used"),
        ("zones of endpoints are told by their clusters", "zone", None, True, "", ""),
        ("no node has a zone", "local", NodeZones((), True), True, "NoZones", "label the nodes"),
        ("there is no node", "remote", NodeZones(), True, "NoZones", "label the nodes"),
        ("no zone, nothing the same", "zone", NodeZones((), True), False, "NoZones", "label the nodes"),
        ("some have none", "local", NodeZones(("z1",), True), True, "NodesWithoutZone", "label them"),
        (
            "more zones than fit",
            "local",
            TOO_MANY,
            True,
            "TooManyZones",
            'in 10 zones, but hints name 8: "z8", "z9"',
        ),
        ("each endpoint is in one zone", "zone", TOO_MANY, True, "", ""),
        ("eight fit", "local", NodeZones(TOO_MANY.names[:8]), True, "", ""),
        ("both", "local", NodeZones(TOO_MANY.names, True), True, "TooManyZones", "label them"),
        ("a cluster without endpoints of its own has no choice", "local", None, False, "", ""),
    ],
)
def test_an_import_is_told(
    case: str,
    preference: TrafficPreference | None,
    zones: NodeZones | None,
    has_own: bool,
    reason: str,
    told: str,
) -> None:
    found = unheeded_in(preference, zones, has_own_endpoints=has_own)
    assert (found.reason if found else "") == reason, case
    assert told in (found.message if found else ""), case


def web(cluster: str, *endpoints: str | Endpoint, traffic: str | None = None, created: float = 0) -> Exporter:
    made = export(traffic=traffic, created=created)
    return exporter(cluster, service(), slice_("web-1", *endpoints), export_=made)


def settled(*exporters: Exporter, zones: NodeZones | None = ZONES) -> SimulatedTarget:
    target = SimulatedTarget("c1", WEB)
    target.zones = zones
    target.rounds_to_rest(exporters, ("c1", "c2", "c3"), "2026-01-01T00:01:00Z")
    return target


def used_in(target: SimulatedTarget, zone: str = "z1") -> list[str]:
    endpoints = [each for mirror in target.mirrors for each in mirror.endpoints or ()]
    return sorted(each.addresses[0] for each in used_endpoints(endpoints, node="n9", zone=zone))


DOWN = endpoint("10.1.0.5", ready=False)


@pytest.mark.parametrize(
    ("case", "exporters", "zones", "used"),
    [
        (
            "own ones while ready",
            [web("c1", "10.1.0.5", traffic="local"), web("c2", "10.2.0.5")],
            ZONES,
            "10.1.0.5",
        ),
        (
            "foreign ones otherwise",
            [web("c1", DOWN, traffic="local"), web("c2", "10.2.0.5")],
            ZONES,
            "10.2.0.5",
        ),
        (
            "remote: foreign ones",
            [web("c1", "10.1.0.5", traffic="remote"), web("c2", "10.2.0.5")],
            ZONES,
            "10.2.0.5",
        ),
        (
            "remote: own ones otherwise",
            [web("c1", "10.1.0.5", traffic="remote"), web("c2")],
            ZONES,
            "10.1.0.5",
        ),
        (
            "without zones both",
            [web("c1", "10.1.0.5", traffic="local"), web("c2", "10.2.0.5")],
            NodeZones((), True),
            "10.1.0.5 10.2.0.5",
        ),
        (
            "zone: those of it, wherever they are",
            [
                web("c1", "10.1.0.5", endpoint("10.1.0.6", zone="z2"), traffic="zone"),
                web("c2", endpoint("10.2.0.5", zone="z1")),
            ],
            ZONES,
            "10.2.0.5",
        ),
        (
            "a drained cluster leaves its clients to the others",
            [
                exporter(
                    "c1", service(), slice_("web-1", "10.1.0.5"), export_=export(traffic="local", weight="0")
                ),
                web("c2", "10.2.0.5"),
            ],
            ZONES,
            "10.2.0.5",
        ),
        (
            "the oldest export decides",
            [web("c1", "10.1.0.5"), web("c2", "10.2.0.5", traffic="local", created=9)],
            ZONES,
            "10.1.0.5 10.2.0.5",
        ),
    ],
)
def test_clients_use(case: str, exporters: list[Exporter], zones: NodeZones, used: str) -> None:
    assert used_in(settled(*exporters, zones=zones)) == used.split(), case


def test_the_import_remembers_the_preference_while_the_cluster_that_said_it_cannot_be_seen() -> None:
    own, other = web("c1", "10.1.0.5", created=9), web("c2", "10.2.0.5", traffic="local")
    target = settled(own, other)
    assert import_of(target).metadata.annotations[TRAFFIC_ANNOTATION] == "local"
    assert target.plan(own, seen=("c1", "c3")) == ()
    assert used_in(target) == ["10.1.0.5"]


def test_a_headless_import_has_no_preference() -> None:
    made = export(traffic="local")
    target = settled(exporter("c1", headless(), slice_("web-1", "10.1.0.5"), export_=made))
    assert TRAFFIC_ANNOTATION not in import_of(target).metadata.annotations
    assert [each.hints for mirror in target.mirrors for each in mirror.endpoints or ()] == [None]


def test_that_it_is_not_heeded_is_told_once_and_taken_back() -> None:
    exporters = web("c1", "10.1.0.5", traffic="local"), web("c2", "10.2.0.5")
    target = settled(*exporters, zones=None)
    said = {each.type: (each.status, each.reason) for each in import_of(target).status.conditions}
    assert said == {"Ready": ("True", "Ready"), "TrafficPreferenceHeeded": ("False", "NodesUnknown")}
    assert [event.reason for event in target.events] == ["TrafficPreferenceNotHeeded"]
    assert target.plan(*exporters) == ()

    target.zones = ZONES
    assert in_words(target.plan(*exporters)) == [
        "apply endpointslices",
        "apply endpointslices",
        "apply serviceimports/status",
    ]
    target.rounds_to_rest(exporters, ("c1", "c2", "c3"), "2026-01-01T00:02:00Z")
    assert [each.type for each in import_of(target).status.conditions] == ["Ready"]


def test_exports_that_prefer_otherwise_are_told_what_is_used() -> None:
    clusters = SimulatedClusterset().settle(
        web("c1", "10.1.0.5", traffic="local"), web("c2", "10.2.0.5", created=9)
    )
    assert clusters.reasons("Conflict") == dict.fromkeys(("c1", "c2"), "TrafficPreferenceConflict")
    (told,) = (each for each in clusters.conditions["c2"] if each.type == "Conflict")
    assert told.message.startswith(
        'Conflicting mcs-controller/traffic-preference. Using "local" from oldest service export in "c1".'
    )
