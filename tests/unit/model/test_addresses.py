"""Which addresses of endpoints are published."""

import pytest

from mcs.model.addresses import families_of, published_address
from mcs.model.slices import IPV4, IPV6, AddressType


@pytest.mark.parametrize(
    ("case", "address", "family", "published"),
    [
        ("an ordinary IPv4 address", "10.2.0.5", IPV4, True),
        ("an ordinary IPv6 address", "fd00:2::5", IPV6, True),
        ("an address of the other family", "10.2.0.5", IPV6, False),
        ("the other way round", "fd00:2::5", IPV4, False),
        ("F1: loopback", "127.0.0.1", IPV4, False),
        ("all of 127/8 is loopback", "127.9.9.9", IPV4, False),
        ("IPv6 loopback", "::1", IPV6, False),
        ("link-local, where the metadata services are", "169.254.169.254", IPV4, False),
        ("IPv6 link-local", "fe80::1", IPV6, False),
        ("multicast", "224.0.0.251", IPV4, False),
        ("IPv6 multicast", "ff02::fb", IPV6, False),
        ("unspecified", "0.0.0.0", IPV4, False),
        ("IPv6 unspecified", "::", IPV6, False),
        ("loopback in IPv6 clothes", "::ffff:127.0.0.1", IPV6, False),
        ("any IPv4 address in IPv6 clothes", "::ffff:10.2.0.5", IPV6, False),
        ("a scoped address means nothing elsewhere", "fd00::1%eth0", IPV6, False),
        ("a name", "web.example.com", IPV4, False),
        ("the empty text", "", IPV4, False),
        ("leading zeros, which some read as octal", "010.2.0.5", IPV4, False),
        ("a number", "1", IPV4, False),
        ("a prefix", "10.2.0.0/24", IPV4, False),
    ],
)
def test_published_addresses(case: str, address: str, family: AddressType, published: bool) -> None:
    assert published_address(address, family) == (address if published else None), case


def test_families_keep_the_order_of_the_addresses_and_skip_what_is_none() -> None:
    assert families_of(["fd00::1", "None", "10.0.0.1", "fd00::2"]) == ("IPv6", "IPv4")


@pytest.mark.parametrize(
    ("case", "address", "canonical"),
    [
        ("zeros are left out", "fd00:2:0::5", "fd00:2::5"),
        ("letters are small", "FD00:2::A", "fd00:2::a"),
        ("an embedded IPv4 address is written in hexadecimal", "64:ff9b::10.2.0.5", "64:ff9b::a02:5"),
    ],
)
def test_an_address_is_published_in_its_canonical_form(case: str, address: str, canonical: str) -> None:
    assert published_address(address, IPV6) == canonical, case
