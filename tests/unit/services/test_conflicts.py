"""Which conflicts are reported, and in what words. Exports are made in the order of the clusters."""

import pytest

from mcs.model.multicluster import ServiceExport
from mcs.model.services import Service
from mcs.services.conflicts import conflicts
from mcs.services.merge import offers
from mcs.testing.builders import WEB, export, exporter, headless, port, service

DUAL = ("IPv4", "IPv6")


def reasons(*services: Service) -> list[str]:
    exporters = [exporter(f"c{number}", each, created=number) for number, each in enumerate(services, 1)]
    return [conflict.reason for conflict in conflicts(offers(exporters))]


@pytest.mark.parametrize(
    ("case", "services", "expected"),
    [
        ("one exporter agrees with itself", [service()], []),
        ("equal Services agree", [service(), service()], []),
        (
            "B2: a port of the same name and another number",
            [service(WEB, "http 80"), service(WEB, "http 8080")],
            ["Port"],
        ),
        ("B4: a mere superset", [service(WEB, "a 1"), service(WEB, "a 1", "b 2/SCTP")], ["Port"]),
        ("B4: a mere subset", [service(WEB, "a 1", "b 2/SCTP"), service(WEB, "a 1")], ["Port"]),
        ("the order of ports is no difference", [service(WEB, "a 1", "b 2"), service(WEB, "b 2", "a 1")], []),
        ("B6: unnamed ports of the same number agree", [service(WEB, "3000"), service(WEB, "3000")], []),
        ("B6: unnamed ports of different numbers", [service(WEB, "80"), service(WEB, "8080")], ["Port"]),
        (
            "B7: another appProtocol",
            [service(WEB, port("http 80", "kubernetes.io/h2c")), service()],
            ["Port"],
        ),
        ("B8: ClusterIP and headless", [service(), headless()], ["Type"]),
        ("B8: the other way round", [headless(), service()], ["Type"]),
        (
            "A3: LoadBalancer and ClusterIP are both ClusterSetIP",
            [service(kind="LoadBalancer"), service()],
            [],
        ),
        (
            "B11: affinity and none differ in both properties",
            [service(affinity_seconds=10), service()],
            ["SessionAffinityConfig", "SessionAffinity"],
        ),
        (
            "B11: affinities of other lengths",
            [service(affinity_seconds=10), service(affinity_seconds=20)],
            ["SessionAffinityConfig"],
        ),
        ("traffic policies", [service(internal="Local"), service()], ["InternalTrafficPolicy"]),
        ("no traffic policy is Cluster", [service(internal=None), service(internal="Cluster")], []),
        (
            "a distribution and none",
            [service(distribution="PreferClose"), service()],
            ["TrafficDistribution"],
        ),
        ("B18: a published family that the newer lacks", [service(families=DUAL), service()], ["IPFamily"]),
        (
            "B18: a family more than is published reaches all the same",
            [service(), service(families=DUAL)],
            [],
        ),
        ("families apart", [service(), service(families=("IPv6",))], ["IPFamily"]),
        (
            "the order of families is no difference",
            [service(families=DUAL), service(families=("IPv6", "IPv4"))],
            [],
        ),
        ("a family of some headless exporters only", [headless(), headless(families=DUAL)], ["IPFamily"]),
        (
            "several at once, in the order of their names",
            [service(), service(WEB, "http 81", internal="Local", is_headless=True)],
            ["InternalTrafficPolicy", "Port", "Type"],
        ),
    ],
)
def test_reasons(case: str, services: list[Service], expected: list[str]) -> None:
    assert reasons(*services) == [f"{each}Conflict" for each in expected], case


@pytest.mark.parametrize(
    ("case", "older", "newer", "expected"),
    [
        (
            "B17: other labels",
            export(labels={"a": "1"}),
            export(labels={"b": "2"}, created=1),
            ["LabelsConflict"],
        ),
        (
            "a label more",
            export(labels={"a": "1"}),
            export(labels={"a": "1", "b": "2"}, created=1),
            ["LabelsConflict"],
        ),
        (
            "another value",
            export(annotations={"a": "1"}),
            export(annotations={"a": "2"}, created=1),
            ["AnnotationsConflict"],
        ),
        ("equal sets", export(labels={"a": "1"}), export(labels={"a": "1"}, created=1), []),
    ],
)
def test_exported_metadata(
    case: str, older: ServiceExport, newer: ServiceExport, expected: list[str]
) -> None:
    exporters = [exporter("c1", service(), export_=older), exporter("c2", service(), export_=newer)]
    assert [each.reason for each in conflicts(offers(exporters))] == expected, case


def test_the_message_names_field_value_winner_and_how_many_disagree() -> None:
    exporters = [
        exporter("c1", service(affinity_seconds=10), created=1),
        exporter("c2", service(affinity_seconds=20), created=2),
        exporter("c3", service(affinity_seconds=10), created=3),
    ]
    (conflict,) = conflicts(offers(exporters))
    assert conflict.message == (
        'Conflicting sessionAffinityConfig. Using "clientIP.timeoutSeconds: 10" from oldest service export in "c1". '
        "1/3 clusters disagree."
    )


def test_the_type_message_is_in_the_words_of_the_kep() -> None:
    (conflict,) = conflicts(offers([exporter("c1", service()), exporter("c2", headless(), created=1)]))
    assert conflict.message == (
        'Conflicting type. Using "ClusterSetIP" from oldest service export in "c1". 1/2 clusters disagree.'
    )


def test_the_port_message_shows_what_is_used() -> None:
    exporters = [
        exporter("c1", service(WEB, "42")),
        exporter("c2", service(WEB, "42", "s 142/SCTP"), created=1),
    ]
    (conflict,) = conflicts(offers(exporters))
    assert '"(unnamed) 42/TCP", "s 142/SCTP"' in conflict.message
    assert conflict.message.endswith("1/2 clusters disagree.")
