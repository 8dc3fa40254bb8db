"""Which endpoints of an export are published where, within bounds, caps and ranges, and what is told of the others."""

from __future__ import annotations

from dataclasses import replace as replaced
from ipaddress import ip_network

import pytest
from msgspec.structs import replace

from mcs.model.names import ClusterId
from mcs.model.policy import Caps, MemberPolicy, Policy
from mcs.model.slices import Endpoint, EndpointSlice
from mcs.services.endpoints import ENDPOINTS_PER_SLICE, Refusals, published_slices, refusals
from mcs.services.exports import desired_conditions
from mcs.services.observed import Exporter
from mcs.testing.builders import WEB, at, endpoint, exporter, observed_export, service, slice_, slice_port

IMPORTER = MemberPolicy()
C1 = ClusterId("c1")


def of(*slices: EndpointSlice, policy: MemberPolicy = IMPORTER) -> Exporter:
    return replaced(exporter("c2", service(), *slices), policy=policy)


def aged(each: EndpointSlice, seconds: float) -> EndpointSlice:
    return replace(each, metadata=replace(each.metadata, creation_timestamp=at(seconds)))


def addresses(number: int, subnet: int = 0) -> list[str]:
    return [f"10.2.{subnet + host // 250}.{host % 250 + 1}" for host in range(number)]


def published(subject: Exporter, importer: MemberPolicy = IMPORTER) -> dict[str, list[str]]:
    """The addresses of each slice."""
    return {
        each.metadata.name: [address for one in each.endpoints or () for address in one.addresses]
        for each in published_slices(subject, WEB, importer)
    }


def capped(most: int) -> MemberPolicy:
    return MemberPolicy(caps=Caps(endpoints_per_service=most))


OLD, NEW = aged(slice_("b", *addresses(3)), 1), aged(slice_("a", *addresses(3, 9)), 2)


@pytest.mark.parametrize(
    ("case", "most", "numbers"),
    [
        ("within the cap all are", 6, {"a": 3, "b": 3}),
        ("the newest slice is cut", 4, {"a": 1, "b": 3}),
        ("and so are older ones, the oldest last", 2, {"a": 0, "b": 2}),
        ("none at all", 0, {"a": 0, "b": 0}),
    ],
)
def test_the_cap_of_a_service_cuts_the_newest_slices(case: str, most: int, numbers: dict[str, int]) -> None:
    for slices in ((OLD, NEW), (NEW, OLD)):
        subject = of(*slices, policy=capped(most))
        assert {name: len(found) for name, found in published(subject).items()} == numbers, case
        assert refusals(subject, WEB, Policy(), [C1]).endpoints == 6 - sum(numbers.values())


def test_of_equally_old_slices_the_last_by_name_is_cut() -> None:
    subject = of(aged(NEW, 1), OLD, policy=capped(3))
    assert {name: len(found) for name, found in published(subject).items()} == {"a": 3, "b": 0}


def test_a_slice_is_cut_to_what_an_api_server_takes() -> None:
    subject = of(slice_("a", *addresses(ENDPOINTS_PER_SLICE + 1)))
    assert published(subject) == {"a": addresses(ENDPOINTS_PER_SLICE)}
    assert refusals(subject, WEB, Policy(), [C1]).endpoints == 1


def test_a_slice_is_cut_to_the_bytes_that_the_policy_allows() -> None:
    many = [endpoint(*addresses(100)) for _ in range(1000)]
    policy = MemberPolicy(caps=Caps(object_bytes=100_000))
    (kept,) = published_slices(of(slice_("a", *many), policy=policy), WEB, IMPORTER)
    assert 0 < len(kept.endpoints or ()) < 100


@pytest.mark.parametrize(
    ("case", "source", "kept"),
    [
        ("an ordinary endpoint", endpoint("10.2.0.1", zone="z"), endpoint("10.2.0.1", zone="z")),
        ("a zone that no label can hold", endpoint("10.2.0.1", zone="x" * 64), endpoint("10.2.0.1")),
        ("a zone that is no name", endpoint("10.2.0.1", zone="a b"), endpoint("10.2.0.1")),
        ("more addresses than fit", endpoint(*addresses(101)), endpoint(*addresses(100))),
    ],
)
def test_an_endpoint_is_made_such_as_an_api_server_takes(case: str, source: Endpoint, kept: Endpoint) -> None:
    (found,) = published_slices(of(slice_("a", source)), WEB, IMPORTER)
    assert found.endpoints == (kept,), case


def test_ports_are_cut_too() -> None:
    ports = tuple(slice_port(f"p{number} 80") for number in range(1001))
    (found,) = published_slices(of(slice_("a", "10.2.0.1", ports=ports)), WEB, IMPORTER)
    assert found.ports == ports[:1000]


RANGES = MemberPolicy(pod_ranges=(ip_network("10.2.0.0/16"), ip_network("fd00:2::/64")))
SERVICES = MemberPolicy(service_ranges=(ip_network("10.96.0.0/12"),))


@pytest.mark.parametrize(
    ("case", "exporter_policy", "importer", "kept"),
    [
        ("without rules every address", IMPORTER, IMPORTER, ["10.2.0.5", "10.3.0.5", "10.96.0.10"]),
        ("the member's own pods only", RANGES, IMPORTER, ["10.2.0.5"]),
        ("none of the importer's Services", IMPORTER, SERVICES, ["10.2.0.5", "10.3.0.5"]),
        ("both", RANGES, SERVICES, ["10.2.0.5"]),
    ],
)
def test_addresses_keep_to_the_ranges_of_the_policy(
    case: str, exporter_policy: MemberPolicy, importer: MemberPolicy, kept: list[str]
) -> None:
    subject = of(slice_("a", "10.2.0.5", "10.3.0.5", "10.96.0.10"), policy=exporter_policy)
    assert published(subject, importer) == {"a": kept}, case


def test_of_several_addresses_of_one_endpoint_only_the_wrong_ones_go() -> None:
    subject = of(slice_("a", endpoint("10.3.0.5", "10.2.0.5")), policy=RANGES)
    assert published(subject) == {"a": ["10.2.0.5"]}


@pytest.mark.parametrize(
    ("case", "address", "told"),
    [
        ("loopback", "127.0.0.1", "is no unicast address"),
        ("a group", "224.0.0.1", "is no unicast address"),
        ("no address", "web", "is no unicast address"),
        ("another member's pod", "10.3.0.5", "is outside the pod ranges of this cluster"),
        ("another member's Service", "10.2.96.5", 'is in the Service range of "c1"'),
    ],
)
def test_why_an_address_is_not_published_is_told(case: str, address: str, told: str) -> None:
    services = MemberPolicy(service_ranges=(ip_network("10.2.96.0/24"),))
    policy = Policy(members={C1: services, ClusterId("c2"): RANGES})
    found = refusals(of(slice_("a", "10.2.0.5", address), policy=RANGES), WEB, policy, [C1, ClusterId("c2")])
    assert [address for address, _ in found.addresses] == [address], case
    assert told in found.message
    assert found.reasons == ("AddressNotAllowed",)


def test_what_is_told_stays_short_whatever_a_member_sends() -> None:
    found = Refusals(7, tuple((f"{number}" * 1000, "is wrong") for number in range(1, 10)))
    assert found.reasons == ("AddressNotAllowed", "TooManyEndpoints")
    assert len(found.message) < 700
    assert "and 4 more" in found.message


def test_nothing_left_out_is_no_condition_and_what_is_left_out_is_one() -> None:
    for addresses_, expected in ((["10.2.0.5"], None), (["10.2.0.5", "127.0.0.1"], "AddressNotAllowed")):
        subject = of(slice_("a", *addresses_))
        observed = observed_export(subject, cluster="c2", listed="c2")
        conditions = {each.type: each for each in desired_conditions(observed, subject)}
        found = conditions.get("EndpointsPublished")
        assert (found.reason if found else None) == expected
        assert found is None or (found.status, conditions["Valid"].status) == ("False", "True")
