"""Merging ports and naming them in mirrors."""

import pytest

from mcs.model.multicluster import ImportPort
from mcs.model.slices import EndpointPort
from mcs.services.ports import (
    merge_ports,
    mirrored_ports,
    names_in_mirrors,
    offered_ports,
    routing_names,
)
from mcs.testing.builders import WEB, port, service, slice_port


def ports(*texts: str) -> tuple[ImportPort, ...]:
    return tuple(
        ImportPort(port=each.port, protocol=each.protocol, name=each.name)
        for each in (port(text) for text in texts)
    )


@pytest.mark.parametrize(
    ("case", "offers", "merged"),
    [
        ("one offer is taken as it is", [["http 80", "https 443"]], ["http 80", "https 443"]),
        (
            "B1: one number in two protocols is two ports",
            [["dns 53/UDP", "dns-tcp 53"]],
            ["dns 53/UDP", "dns-tcp 53"],
        ),
        ("B2: same name, other number: the older stays", [["http 80"], ["http 8080"]], ["http 80"]),
        ("same name, other protocol: the older stays", [["dns 53/UDP"], ["dns 53/TCP"]], ["dns 53/UDP"]),
        ("same number, other name: the older stays", [["http 80"], ["web 80"]], ["http 80"]),
        (
            "B4: the union, the older first",
            [["tcp 42"], ["tcp 42", "stcp 142/SCTP"]],
            ["tcp 42", "stcp 142/SCTP"],
        ),
        ("B6: two unnamed ports share the empty name", [["80"], ["8080"]], ["80"]),
        ("the name decides before the number", [["a 1", "b 2"], ["a 2", "c 3"]], ["a 1", "b 2", "c 3"]),
        ("what lost its name does not block its number", [["a 1"], ["a 2"], ["b 2"]], ["a 1", "b 2"]),
        ("nothing is offered", [[], []], []),
    ],
)
def test_merged_ports(case: str, offers: list[list[str]], merged: list[str]) -> None:
    assert merge_ports(ports(*offer) for offer in offers) == ports(*merged), case


def test_b7_the_older_app_protocol_stays() -> None:
    older = (ImportPort(port=80, protocol="TCP", name="http", app_protocol="kubernetes.io/h2c"),)
    assert merge_ports([older, ports("http 80")]) == older


def test_ports_that_no_api_server_would_take_are_not_offered() -> None:
    offered = service(WEB, "http 80", "a 0", "b 70000", "c 81/ICMP", "Not_A_Label 82")
    assert offered_ports(offered) == ports("http 80")


def test_an_app_protocol_that_no_api_server_would_take_is_left_out() -> None:
    offered = service(WEB, port("http 80", "kubernetes.io/h2c"), port("web 81", "no such thing"))
    assert [each.app_protocol for each in offered_ports(offered)] == ["kubernetes.io/h2c", None]


@pytest.mark.parametrize(
    ("case", "merged", "names"),
    [
        ("a single unnamed port needs no name", ["80"], {("TCP", 80): ""}),
        ("names are kept", ["http 80", "web 81"], {("TCP", 80): "http", ("TCP", 81): "web"}),
        (
            "beside others an unnamed port gets one",
            ["80", "web 81"],
            {("TCP", 80): "tcp-80", ("TCP", 81): "web"},
        ),
        (
            "also when that one is taken",
            ["80", "tcp-80 81"],
            {("TCP", 80): "tcp-80-x", ("TCP", 81): "tcp-80"},
        ),
    ],
)
def test_routing_names(case: str, merged: list[str], names: dict[tuple[str, int], str]) -> None:
    assert routing_names(ports(*merged)) == names, case


@pytest.mark.parametrize(
    ("case", "own", "merged", "names"),
    [
        ("an agreed port keeps its name", ["http 80"], ["http 80"], {"http": "http"}),
        ("B2: a port that lost its contest is not reached", ["http 8080"], ["http 80"], {}),
        ("a port known by another name is called by that", ["web 80"], ["http 80"], {"web": "http"}),
        ("the same number of another protocol is another port", ["dns 53/UDP"], ["dns 53/TCP"], {}),
        ("a lost name does not lose the number", ["a 2"], ["a 1", "b 2"], {"a": "b"}),
        ("B6: the unnamed port stays unnamed", ["80"], ["80"], {"": ""}),
        ("unless it is one of several", ["80"], ["80", "web 81"], {"": "tcp-80"}),
    ],
)
def test_names_in_mirrors(case: str, own: list[str], merged: list[str], names: dict[str, str]) -> None:
    assert names_in_mirrors(ports(*own), routing_names(ports(*merged))) == names, case


@pytest.mark.parametrize(
    ("case", "present", "names", "mirrored"),
    [
        ("a port is renamed, its number is the target's own", "web 8080", {"web": "http"}, ["http 8080"]),
        ("a port the Service does not have is dropped", "old 8080", {"web": "http"}, []),
        ("an unnamed one matches the unnamed one", "8080", {"": ""}, ["8080"]),
    ],
)
def test_mirrored_ports(case: str, present: str, names: dict[str, str], mirrored: list[str]) -> None:
    assert mirrored_ports([slice_port(present)], names) == tuple(slice_port(each) for each in mirrored), case


def test_b6_a_missing_name_is_the_empty_name_and_a_missing_protocol_is_tcp() -> None:
    assert mirrored_ports([EndpointPort(port=8080)], {"": ""}) == (
        EndpointPort(name="", protocol="TCP", port=8080),
    )
