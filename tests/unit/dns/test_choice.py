"""Preference among the endpoints of a headless service: who answers, who comes first, who is left out of a cut."""

from __future__ import annotations

import random
from collections import Counter

import dns.flags
import dns.message
import pytest

from mcs.model.preference import Preference
from mcs.model.slices import IPV6, Endpoint
from mcs_dns.choice import Choice, ranking, weighted_key
from mcs_dns.server import _shuffled
from mcs_dns.wire import MAX_DATAGRAM, STREAM, respond
from mcs_dns.zone import Zone
from tests.unit.dns.sample_zone import mirror, ready, service_import, zone_of

DB = "db.demo.svc.clusterset.local."
P = (("p", "TCP", 1),)
LOCAL = Preference(is_local_first=True)


def zone_of_clusters(*preferences: Preference, hosts: int = 1) -> Zone:
    """A headless service of clusters c1, c2 …, with IPv4 endpoints 10.N.0.1 and on."""
    mirrors = [
        mirror("db", f"c{number}", *_hosts(number, hosts), ports=P, preference=preference)
        for number, preference in enumerate(preferences, 1)
    ]
    return zone_of((service_import("db", "Headless"), tuple(mirrors)))


def _hosts(number: int, count: int) -> tuple[Endpoint, ...]:
    return tuple(ready(f"10.{number}.0.{host}", hostname=f"h{host}") for host in range(1, count + 1))


def asked(zone: Zone, type_: str = "A", name: str = DB, *, limit: int = STREAM, epoch: int = 0) -> list[str]:
    """The answer records, as text."""
    response = respond(dns.message.make_query(name, type_).to_wire(), zone, limit, epoch=epoch)
    assert response is not None
    return [str(record) for rrset in dns.message.from_wire(response).answer for record in rrset]


@pytest.mark.parametrize(
    ("case", "preferences", "addresses", "services"),
    [
        (
            "every endpoint by default",
            [Preference(), Preference()],
            ["10.1.0.1", "10.2.0.1"],
            ["0 100 1 h1.c1", "0 100 1 h1.c2"],
        ),
        (
            "weight and priority are those of SRV; clients of addresses get the first priority",
            [Preference(7, 2), Preference(9, 1)],
            ["10.2.0.1"],
            ["1 9 1 h1.c2", "2 7 1 h1.c1"],
        ),
        ("weight 0 withholds", [Preference(0), Preference()], ["10.2.0.1"], ["0 100 1 h1.c2"]),
        ("weight 0 everywhere withholds all", [Preference(0), Preference(0)], [], []),
        (
            "priorities of the withheld do not count",
            [Preference(0, 0), Preference(5, 3)],
            ["10.2.0.1"],
            ["3 5 1 h1.c2"],
        ),
        ("the local cluster alone", [LOCAL, Preference()], ["10.1.0.1"], ["0 100 1 h1.c1"]),
        (
            "a local cluster that is withheld leaves it to the others",
            [Preference(0, 0, is_local_first=True), Preference()],
            ["10.2.0.1"],
            ["0 100 1 h1.c2"],
        ),
    ],
)
def test_endpoints_that_answer(
    case: str, preferences: list[Preference], addresses: list[str], services: list[str]
) -> None:
    zone = zone_of_clusters(*preferences)
    assert sorted(asked(zone)) == addresses, case
    for name in (DB, f"_p._tcp.{DB}"):
        assert sorted(asked(zone, "SRV", name)) == [f"{each}.{DB}" for each in services], case


def test_local_endpoints_that_are_not_ready_leave_it_to_the_others() -> None:
    imported = service_import("db", "Headless")
    mirrors = (mirror("db", "c1", preference=LOCAL), mirror("db", "c2", ready("10.2.0.1")))
    assert asked(zone_of((imported, mirrors))) == ["10.2.0.1"]


def test_the_name_of_an_endpoint_always_answers() -> None:
    zone = zone_of_clusters(Preference(0), LOCAL, Preference(1, 9))
    for number in (1, 2, 3):
        assert asked(zone, name=f"h1.c{number}.{DB}") == [f"10.{number}.0.1"]


def test_a_service_whose_endpoints_are_all_withheld_exists() -> None:
    response = respond(dns.message.make_query(DB, "A").to_wire(), zone_of_clusters(Preference(0)))
    assert response is not None
    read = dns.message.from_wire(response)
    assert (read.rcode(), len(read.answer), len(read.authority)) == (0, 0, 1)


def test_the_additional_section_tells_only_of_those_that_answer() -> None:
    zone = zone_of_clusters(Preference(0), Preference())
    response = respond(dns.message.make_query(DB, "SRV").to_wire(), zone)
    assert response is not None
    assert [str(rrset.name) for rrset in dns.message.from_wire(response).additional] == [f"h1.c2.{DB}"]


WEIGHTS = (1, 2, 3, 10, 84)


def test_the_first_place_has_the_shares_of_the_weights() -> None:
    random.seed(7)
    items = [bytes((weight,)) for weight in WEIGHTS]
    turns = 20_000
    firsts = Counter(_shuffled(items, WEIGHTS)[0][0] for _ in range(turns))
    for weight in WEIGHTS:
        share = weight / sum(WEIGHTS)
        # Five standard deviations of a binomial count.
        assert abs(firsts[weight] - turns * share) < 5 * (turns * share * (1 - share)) ** 0.5


def test_without_weights_every_order_is_as_likely() -> None:
    random.seed(7)
    orders = Counter(b"".join(_shuffled([b"a", b"b", b"c"], None)) for _ in range(12_000))
    assert len(orders) == 6
    assert all(abs(count - 2000) < 5 * (12_000 * 5 / 36) ** 0.5 for count in orders.values())


def test_a_shuffle_loses_and_doubles_nothing() -> None:
    items = [b"x", b"x", b"y", b"z"]
    assert sorted(_shuffled(items, [1, 2, 3, 65535])) == items
    assert sorted(_shuffled(items, None)) == items


def test_over_many_epochs_the_ranks_have_the_shares_of_the_weights() -> None:
    choices = [Choice(f"h{weight}", weight) for weight in WEIGHTS]
    epochs = 4000
    firsts = Counter(WEIGHTS[ranking(choices, epoch)[0][0]] for epoch in range(epochs))
    for weight in WEIGHTS:
        share = weight / sum(WEIGHTS)
        assert abs(firsts[weight] - epochs * share) < 5 * (epochs * share * (1 - share)) ** 0.5


def test_priorities_rank_before_weights() -> None:
    choices = [Choice("a", 65535, 2), Choice("b", 1, 1), Choice("c", 1, 3), Choice("b", 1, 1)]
    assert all(ranking(choices, epoch) == [[1, 3], [0], [2]] for epoch in range(50))


def test_the_least_key_goes_to_the_larger_weight_at_even_chance() -> None:
    assert weighted_key(0.5, 2) < weighted_key(0.5, 1)
    assert weighted_key(1.0, 1) == 0.0


def cut(type_: str, epoch: int, *preferences: Preference) -> set[str]:
    """The hosts that a datagram has room for, as `host.cluster`; 60 of each cluster, in both families."""
    mirrors = []
    for number, preference in enumerate(preferences, 1):
        mirrors.append(mirror("db", f"c{number}", *_hosts(number, 60), ports=P, preference=preference))
        hosts = (ready(f"fd00:{number}::{host}", hostname=f"h{host}") for host in range(1, 61))
        mirrors.append(mirror("db", f"c{number}", *hosts, family=IPV6, ports=P, preference=preference))
    zone = zone_of((service_import("db", "Headless"), tuple(mirrors)))
    message = dns.message.make_query(DB, type_, use_edns=0, payload=1232)
    response = respond(message.to_wire(), zone, MAX_DATAGRAM, epoch=epoch)
    assert response is not None
    read = dns.message.from_wire(response)
    assert read.flags & dns.flags.TC
    return {_host(type_, str(record)) for record in read.answer[0]}


def _host(type_: str, data: str) -> str:
    match type_:
        case "A":
            _, cluster, _, host = data.split(".")
        case "AAAA":
            _, cluster, _, host = data.split(":")
        case _:
            return data.split(" ")[3].removesuffix(f".{DB}")
    return f"h{host}.c{cluster}"


@pytest.mark.parametrize("epoch", [0, 1, 170_000_000])
def test_a_cut_takes_the_same_endpoints_for_every_type_and_others_in_the_next_epoch(epoch: int) -> None:
    both = (Preference(), Preference(300))
    assert cut("A", epoch, *both) == cut("AAAA", epoch, *both)
    assert len(cut("A", epoch, *both)) > 30
    assert cut("SRV", epoch, *both) < cut("A", epoch, *both)
    assert cut("A", epoch, *both) != cut("A", epoch + 1, *both)


def test_a_cut_takes_the_first_priority_first() -> None:
    found = cut("SRV", 5, Preference(1, 1), Preference(65535, 2))
    assert {each.partition(".")[2] for each in found} == {"c1"}


def test_an_endpoint_is_taken_whole_or_not_at_all() -> None:
    hosts = [ready(*(f"10.{host}.0.{n}" for n in range(7)), hostname=f"h{host}") for host in range(1, 30)]
    zone = zone_of((service_import("db", "Headless"), (mirror("db", "c1", *hosts),)))
    for epoch in range(20):
        found = Counter(address.split(".")[1] for address in asked(zone, limit=512, epoch=epoch))
        assert set(found.values()) == {7}
