"""KEP-1645, ports: the union of what is exported, whose port it is when two collide, and where its traffic goes."""

from collections.abc import Sequence

import msgspec
import pytest

from mcs.testing.builders import WEB, headless, port, service
from mcs.testing.simulated_clusterset import CLUSTERS, SimulatedClusterset, exports
from tests.conformance.small_clusterset import settled

COLLISIONS = [
    (["http 80"], ["http 80", "web 81"], ["http 80/TCP", "web 81/TCP"]),
    (["http 80", "web 81"], ["http 80"], ["http 80/TCP", "web 81/TCP"]),
    (["http 80"], ["http 81"], ["http 80/TCP"]),
    (["http 80"], ["http 80/UDP"], ["http 80/TCP"]),
    (["http 80"], ["web 80"], ["http 80/TCP"]),
    (["dns 53/UDP"], ["dns-tcp 53/TCP"], ["dns 53/UDP", "dns-tcp 53/TCP"]),
    (["80"], ["81"], [" 80/TCP"]),
    (["80"], ["http 81"], [" 80/TCP", "http 81/TCP"]),
    (["a 1", "b 2"], ["a 2", "b 1", "c 3"], ["a 1/TCP", "b 2/TCP", "c 3/TCP"]),
]


def both(older: Sequence[str], newer: Sequence[str]) -> SimulatedClusterset:
    return settled(exports("c2", service(WEB, *newer)), exports("c1", service(WEB, *older)))


@pytest.mark.spec("KEP-1645#service-port: the union", "MUST")
@pytest.mark.parametrize(("older", "newer", "union"), COLLISIONS)
def test_ports_that_differ_at_all_are_united_and_a_conflict(
    older: list[str], newer: list[str], union: list[str]
) -> None:
    world = both(older, newer)
    assert [world.ports(cluster) for cluster in CLUSTERS] == [union] * 3
    assert world.reasons("Conflict") == {"c1": "PortConflict", "c2": "PortConflict"}


@pytest.mark.spec("KEP-1645#service-port: the union", "MUST")
def test_the_order_of_ports_is_no_difference() -> None:
    world = both(["http 80", "web 81"], ["web 81", "http 80"])
    assert world.reasons("Conflict") == {"c1": "NoConflicts", "c2": "NoConflicts"}


@pytest.mark.spec("KEP-1645#service-port: no duplicates", "MUST")
@pytest.mark.parametrize(("older", "newer", "union"), COLLISIONS)
def test_no_name_and_no_protocol_and_port_are_there_twice(
    older: list[str], newer: list[str], union: list[str]
) -> None:
    world = settled(
        *(exports(c, service(WEB, *each)) for c, each in zip(CLUSTERS, (older, newer, union), strict=True))
    )
    for found in world.imports:
        names = [each.name for each in found.spec.ports]
        pairs = [(each.protocol, each.port) for each in found.spec.ports]
        assert (len(set(names)), len(set(pairs))) == (len(names), len(pairs))


@pytest.mark.spec("KEP-1645#service-port: names first", "SHOULD")
@pytest.mark.parametrize(
    ("oldest", "next_", "youngest", "union"),
    [
        # "web 80" loses its number to "http 80", so "web" is free for the next one.
        (["http 80"], ["web 80"], ["web 82"], ["http 80/TCP", "web 82/TCP"]),
        # "http 81" loses its name to "http 80", so number 81 is free for the next one.
        (["http 80"], ["http 81"], ["web 81"], ["http 80/TCP", "web 81/TCP"]),
    ],
)
def test_of_ports_that_collide_the_older_one_stays(
    oldest: list[str], next_: list[str], youngest: list[str], union: list[str]
) -> None:
    offered = zip(CLUSTERS, (oldest, next_, youngest), strict=True)
    assert settled(*(exports(cluster, service(WEB, *each)) for cluster, each in offered)).ports() == union


@pytest.mark.spec("KEP-1645#service-port: names first", "SHOULD")
@pytest.mark.parametrize("older", ["h2c", None])
def test_of_one_port_the_oldest_says_the_app_protocol(older: str | None) -> None:
    named = [service(WEB, port("http 80", app_protocol=protocol)) for protocol in (older, "http")]
    world = settled(exports("c1", named[0]), exports("c2", named[1]))
    assert [each.app_protocol for each in world.imports[0].spec.ports] == [older]
    derived = world.targets["c1"].derived
    assert derived is not None
    assert [each.app_protocol for each in derived.spec.ports] == [older]
    assert world.reasons("Conflict") == {"c1": "PortConflict", "c2": "PortConflict"}


@pytest.mark.spec("KEP-1645#service-port: only who serves it", "SHOULD")
def test_traffic_to_a_contested_port_goes_only_to_the_cluster_that_serves_it() -> None:
    world = both(["http 80"], ["http 81"])
    assert [world.served("http", cluster) for cluster in CLUSTERS] == [["c1"]] * 3


@pytest.mark.spec("KEP-1645#service-port: only who serves it", "SHOULD")
def test_traffic_to_a_port_of_one_cluster_goes_to_that_cluster() -> None:
    world = settled(
        exports("c1", service(WEB, "http 80"), "http 8080"),
        exports("c2", service(WEB, "http 80", "web 81"), "http 8080", "web 8081"),
    )
    assert (world.served("http"), world.served("web")) == (["c1", "c2"], ["c2"])


@pytest.mark.spec("KEP-1645#service-port: only who serves it", "SHOULD")
def test_a_port_that_the_newer_one_calls_otherwise_is_served_by_both_under_the_name_of_the_older() -> None:
    world = settled(
        exports("c1", service(WEB, "http 80"), "http 8080"), exports("c2", service(WEB, "web 80"), "web 9090")
    )
    assert (world.derived_ports(), world.served("http"), world.served("web")) == (
        ["http 80/TCP"],
        ["c1", "c2"],
        [],
    )
    (mirror,) = world.mirrors("c2")
    assert [(each.name, each.port) for each in mirror.ports or ()] == [("http", 9090)]


@pytest.mark.spec("KEP-1645#service-port: after defaulting", "MUST")
@pytest.mark.parametrize("exported", [service(WEB, "http 80"), headless(WEB, "http 80")])
def test_a_port_says_its_protocol_and_nothing_that_an_import_does_not_have(exported: object) -> None:
    (found, *_) = settled(exports("c1", exported)).imports  # type: ignore[arg-type]
    assert msgspec.to_builtins(found.spec.ports) == ({"name": "http", "port": 80, "protocol": "TCP"},)
