"""KEP-1645, conflicts: who wins, who is told, in which words, and what does not change."""

from typing import Any

import pytest

from mcs.model.multicluster import ServiceImportSpec
from mcs.model.services import ClientIPConfig, SessionAffinityConfig
from mcs.model.slices import ForZone
from mcs.services.observed import Exporter
from mcs.testing.builders import WEB, endpoint, export, exporter, headless, service, slice_
from mcs.testing.simulated_clusterset import CLUSTERS, SimulatedClusterset, exports
from tests.conformance.small_clusterset import DUAL, conflict_of, settled

CONFLICTS = [
    ("TypeConflict", {}, {"is_headless": True}, "type", "ClusterSetIP"),
    (
        "SessionAffinityConfigConflict,SessionAffinityConflict",
        {},
        {"affinity_seconds": 9},
        "session_affinity",
        "None",
    ),
    ("InternalTrafficPolicyConflict", {"internal": "Local"}, {}, "internal_traffic_policy", "Local"),
    (
        "TrafficDistributionConflict",
        {"distribution": "PreferClose"},
        {},
        "traffic_distribution",
        "PreferClose",
    ),
    ("IPFamilyConflict", {"families": DUAL}, {}, "ip_families", DUAL),
]


def specs(world: SimulatedClusterset) -> list[ServiceImportSpec]:
    return [found.spec for found in world.imports]


def aged(cluster: str, created: float, **properties: Any) -> Exporter:
    """A cluster that exports, whatever its number says of its age."""
    return exporter(cluster, service(**properties), export_=export(created=created))


@pytest.mark.spec("KEP-1645#constraints-and-conflict-resolution: told to all", "MUST")
@pytest.mark.parametrize(("reason", "older", "newer", "field", "value"), CONFLICTS)
def test_every_export_is_told_of_a_conflict_in_the_same_words(
    reason: str, older: dict[str, Any], newer: dict[str, Any], field: str, value: object
) -> None:
    # c1 is the oldest whatever the order in which they are seen, and c3 agrees with it.
    world = settled(
        exports("c3", service(**older)), exports("c2", service(**newer)), exports("c1", service(**older))
    )
    told = {conflict_of(world, cluster).message for cluster in CLUSTERS}
    assert world.reasons("Conflict") == dict.fromkeys(("c3", "c2", "c1"), reason)
    assert [conflict_of(world, cluster).status for cluster in CLUSTERS] == ["True"] * 3
    assert len(told) == 1


@pytest.mark.spec("KEP-1645#constraints-and-conflict-resolution: the oldest wins", "MUST")
@pytest.mark.parametrize(("reason", "older", "newer", "field", "value"), CONFLICTS)
def test_the_oldest_export_decides_against_the_majority_and_the_cluster_itself(
    reason: str, older: dict[str, Any], newer: dict[str, Any], field: str, value: object
) -> None:
    world = settled(aged("c1", 20, **newer), aged("c2", 30, **newer), aged("c3", 10, **older))
    assert [getattr(spec, field) for spec in specs(world)] == [value] * 3
    assert world.reasons("Conflict")["c3"] == reason


@pytest.mark.spec("KEP-1645#constraints-and-conflict-resolution: ties", "MUST")
def test_equal_ages_are_decided_alike_in_every_cluster() -> None:
    both = [exporter(name, service(internal=policy)) for name, policy in (("c2", "Local"), ("c1", "Cluster"))]
    for order in (both, both[::-1]):
        assert [spec.internal_traffic_policy for spec in specs(settled(*order))] == ["Cluster"] * 3


@pytest.mark.spec("KEP-1645#constraints-and-conflict-resolution: a newcomer disturbs nothing", "MUST NOT")
@pytest.mark.parametrize(("reason", "older", "newer", "field", "value"), CONFLICTS)
def test_a_newer_export_does_not_disturb_what_an_older_one_brought_about(
    reason: str, older: dict[str, Any], newer: dict[str, Any], field: str, value: object
) -> None:
    world = settled(exports("c1", service(**older)))
    before = specs(world)
    assert specs(world.settle(exports("c1", service(**older)), exports("c2", service(**newer)))) == before


@pytest.mark.spec("KEP-1645#constraints-and-conflict-resolution: an end may change it", "MAY")
def test_when_the_oldest_goes_the_next_one_decides() -> None:
    younger = exports("c2", service(internal="Local")), exports("c3", service(internal="Local"))
    world = settled(exports("c1", service()), *younger)
    assert [spec.internal_traffic_policy for spec in specs(world)] == ["Cluster"] * 3
    assert [spec.internal_traffic_policy for spec in specs(world.settle(*younger))] == ["Local"] * 3
    assert world.reasons("Conflict") == {"c2": "NoConflicts", "c3": "NoConflicts"}


@pytest.mark.spec("KEP-1645#constraints-and-conflict-resolution: no conflict is told", "SHOULD")
def test_without_a_conflict_that_is_said_too() -> None:
    # A policy that is not set is the default one.
    world = settled(exports("c1", service(internal=None)), exports("c2", service(kind="NodePort")))
    assert world.reasons("Conflict") == {"c1": "NoConflicts", "c2": "NoConflicts"}
    assert [conflict_of(world, cluster).status for cluster in ("c1", "c2")] == ["False"] * 2


@pytest.mark.spec("KEP-1645#constraints-and-conflict-resolution: all reasons at once", "MUST")
def test_several_conflicts_are_told_at_once_each_with_a_line() -> None:
    odd = service(
        WEB, "http 81", is_headless=True, affinity_seconds=9, internal="Local", distribution="PreferClose"
    )
    told = export(created=2, labels={"a": "1"}, annotations={"b": "2"})
    world = settled(exports("c1", service(families=DUAL)), exporter("c2", odd, export_=told))
    for cluster in ("c1", "c2"):
        found = conflict_of(world, cluster)
        assert found.reason.split(",") == [
            "AnnotationsConflict",
            "IPFamilyConflict",
            "InternalTrafficPolicyConflict",
            "LabelsConflict",
            "PortConflict",
            "SessionAffinityConfigConflict",
            "SessionAffinityConflict",
            "TrafficDistributionConflict",
            "TypeConflict",
        ]
        assert len(found.message.splitlines()) == 9


@pytest.mark.spec("KEP-1645#constraints-and-conflict-resolution: the message", "SHOULD")
@pytest.mark.parametrize(
    ("older", "newer", "field", "used"),
    [
        ({}, {"is_headless": True}, "type", '"ClusterSetIP"'),
        (
            {"affinity_seconds": 9},
            {"affinity_seconds": 8},
            "sessionAffinityConfig",
            '"clientIP.timeoutSeconds: 9"',
        ),
        ({"internal": "Local"}, {}, "internalTrafficPolicy", '"Local"'),
        ({}, {"distribution": "PreferClose"}, "trafficDistribution", "none"),
        ({"families": DUAL}, {}, "ipFamilies", '"IPv4", "IPv6"'),
    ],
)
def test_the_message_names_field_value_winner_why_and_how_many_disagree(
    older: dict[str, Any], newer: dict[str, Any], field: str, used: str
) -> None:
    world = settled(*(exports(c, service(**(older if c == "c1" else newer))) for c in CLUSTERS))
    message = conflict_of(world, "c3").message
    assert message.startswith(f"Conflicting {field}. Using {used}")
    assert 'oldest service export in "c1"' in message
    assert message.endswith("2/3 clusters disagree.")


@pytest.mark.spec("KEP-1645#constraints-and-conflict-resolution: an invalid export has none", "MAY")
def test_an_export_that_is_not_valid_takes_no_part_in_conflicts() -> None:
    world = settled(exports("c1", service()), exports("c2", headless()))
    assert set(world.reasons("Conflict")) == {"c1", "c2"}
    world.settle(exports("c1", service()), exports("c2", service(kind="ExternalName")))
    assert world.reasons("Conflict") == {"c1": "NoConflicts"}
    assert world.reasons("Ready") == {"c1": "Exported", "c2": "Pending"}


@pytest.mark.spec("KEP-1645#constraints-and-conflict-resolution: exported labels", "MUST")
def test_exported_labels_are_those_of_the_oldest_as_a_whole() -> None:
    world = settled(
        exporter("c1", service(), export_=export(created=1, labels={"a": "1", "c": "1"})),
        exporter("c2", service(), export_=export(created=2, labels={"b": "2", "c": "2"})),
    )
    shown = [{key: found.metadata.labels.get(key) for key in "abc"} for found in world.imports]
    assert shown == [{"a": "1", "b": None, "c": "1"}] * 3
    assert world.reasons("Conflict") == {"c1": "LabelsConflict", "c2": "LabelsConflict"}


@pytest.mark.spec("KEP-1645#constraints-and-conflict-resolution: exported annotations", "MUST")
def test_exported_annotations_are_those_of_the_oldest_as_a_whole() -> None:
    world = settled(
        exporter("c2", service(), export_=export(created=2, annotations={"b": "2", "c": "2"})),
        exporter("c1", service(), export_=export(created=1, annotations={"a": "1", "c": "1"})),
    )
    shown = [{key: found.metadata.annotations.get(key) for key in "abc"} for found in world.imports]
    assert shown == [{"a": "1", "b": None, "c": "1"}] * 3
    assert world.reasons("Conflict") == {"c2": "AnnotationsConflict", "c1": "AnnotationsConflict"}


@pytest.mark.spec("KEP-1645#headlessness: the type of the oldest", "MUST")
@pytest.mark.parametrize(("is_headless", "type_"), [(True, "Headless"), (False, "ClusterSetIP")])
def test_the_oldest_decides_the_type_and_the_endpoints_of_the_loser_stay(
    is_headless: bool, type_: str
) -> None:
    world = settled(
        exports("c1", service(is_headless=is_headless)), exports("c2", service(is_headless=not is_headless))
    )
    assert [spec.type for spec in specs(world)] == [type_] * 3
    assert world.reasons("Conflict") == {"c1": "TypeConflict", "c2": "TypeConflict"}
    assert world.served("http") == ["c1", "c2"]


@pytest.mark.spec("KEP-1645#headlessness: a type that flips", "SHOULD")
@pytest.mark.parametrize("was_headless", [True, False])
def test_a_type_that_flips_when_the_oldest_goes_is_told_by_events_in_every_cluster(
    was_headless: bool,
) -> None:
    younger = exports("c2", service(is_headless=not was_headless))
    world = settled(exports("c1", service(is_headless=was_headless)), younger)
    assert [each.events for each in world.targets.values()] == [[], [], []]
    world.settle(younger)
    told = [[event.reason for event in each.events] for each in world.targets.values()]
    assert told == [["TypeChanged"]] * 3


@pytest.mark.spec("KEP-1645#session-affinity: affinity of the oldest", "MUST")
@pytest.mark.parametrize(("older", "newer", "affinity"), [(9, None, "ClientIP"), (None, 9, "None")])
def test_session_affinity_is_that_of_the_oldest(older: int | None, newer: int | None, affinity: str) -> None:
    world = settled(
        exports("c2", service(affinity_seconds=newer)), exports("c1", service(affinity_seconds=older))
    )
    assert [spec.session_affinity for spec in specs(world)] == [affinity] * 3
    assert [spec.session_affinity_config is None for spec in specs(world)] == [affinity == "None"] * 3
    derived = [target.derived for target in world.targets.values()]
    assert [each.spec.session_affinity for each in derived if each] == [affinity] * 3


@pytest.mark.spec("KEP-1645#session-affinity: its configuration", "MUST")
def test_the_configuration_of_affinity_is_that_of_the_oldest() -> None:
    world = settled(exports("c2", service(affinity_seconds=8)), exports("c1", service(affinity_seconds=9)))
    nine = SessionAffinityConfig(client_ip=ClientIPConfig(timeout_seconds=9))
    assert [spec.session_affinity_config for spec in specs(world)] == [nine] * 3
    derived = [target.derived for target in world.targets.values()]
    assert [each.spec.session_affinity_config for each in derived if each] == [nine] * 3
    assert set(world.reasons("Conflict").values()) == {"SessionAffinityConfigConflict"}


@pytest.mark.spec("KEP-1645#internal-traffic-policy: policy of the oldest", "MUST")
@pytest.mark.parametrize(
    ("older", "newer", "policy", "reason"),
    [
        ("Local", "Cluster", "Local", "InternalTrafficPolicyConflict"),
        ("Cluster", "Local", "Cluster", "InternalTrafficPolicyConflict"),
        (None, "Cluster", "Cluster", "NoConflicts"),
        (None, "Local", "Cluster", "InternalTrafficPolicyConflict"),
    ],
)
def test_the_internal_traffic_policy_is_that_of_the_oldest(
    older: str | None, newer: str | None, policy: str, reason: str
) -> None:
    world = settled(exports("c2", service(internal=newer)), exports("c1", service(internal=older)))
    assert [spec.internal_traffic_policy for spec in specs(world)] == [policy] * 3
    derived = [target.derived for target in world.targets.values()]
    assert [each.spec.internal_traffic_policy for each in derived if each] == [policy] * 3
    assert set(world.reasons("Conflict").values()) == {reason}


@pytest.mark.spec("KEP-1645#traffic-distribution: distribution of the oldest", "MUST")
@pytest.mark.parametrize(("older", "newer"), [("PreferClose", None), (None, "PreferClose")])
def test_the_traffic_distribution_is_that_of_the_oldest(older: str | None, newer: str | None) -> None:
    world = settled(exports("c2", service(distribution=newer)), exports("c1", service(distribution=older)))
    assert [spec.traffic_distribution for spec in specs(world)] == [older] * 3
    derived = [target.derived for target in world.targets.values()]
    assert [each.spec.traffic_distribution for each in derived if each] == [older] * 3
    assert set(world.reasons("Conflict").values()) == {"TrafficDistributionConflict"}


@pytest.mark.spec("KEP-1645#traffic-distribution: for all endpoints", "MUST")
@pytest.mark.parametrize("distribution", ["PreferClose", "PreferSameZone"])
def test_the_preference_holds_for_the_endpoints_of_all_clusters(distribution: str) -> None:
    zoned = (
        exporter(
            cluster,
            service(distribution=distribution),
            slice_("web-1", endpoint(f"10.{cluster[1:]}.0.5", zone=f"z-{cluster}")),
        )
        for cluster in ("c1", "c2")
    )
    for target in settled(*zoned).targets.values():
        endpoints = [each for mirror in target.mirrors for each in mirror.endpoints or ()]
        hinted = {each.addresses[0]: each.hints.for_zones for each in endpoints if each.hints}
        assert hinted == {"10.1.0.5": (ForZone(name="z-c1"),), "10.2.0.5": (ForZone(name="z-c2"),)}
