"""What names, keys, labels and addresses must look like, and the sentences that say so.

Every function returns the reasons why a text does not have the format, in the server's order and words;
nothing when it has. (Kubernetes, "Object Names and IDs", "Labels and Selectors"; RFC 1035 section 2.3.1;
RFC 1123 section 2.1.)
"""

import ipaddress
import re
from collections.abc import Iterator
from functools import lru_cache

_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_LABEL_1035 = "[a-z]([-a-z0-9]*[a-z0-9])?"
_NAME_PART = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_LABEL_VALUE = f"({_NAME_PART})?"
_CONFIG_KEY = "[-._a-zA-Z0-9]+"

_CHARACTERS = "alphanumeric characters, '-', '_' or '.'"
_LABEL_SENTENCE = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end "
    f"with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '{_LABEL}')"
)
_SUBDOMAIN_SENTENCE = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start "
    "and end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    f"'{_SUBDOMAIN}')"
)
_LABEL_1035_SENTENCE = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, "
    "and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is "
    f"'{_LABEL_1035}')"
)
_NAME_PART_SENTENCE = (
    f"must consist of {_CHARACTERS}, and must start and end with an alphanumeric character (e.g. 'MyName',  or "
    f"'my.name',  or '123-abc', regex used for validation is '{_NAME_PART}')"
)
_LABEL_VALUE_SENTENCE = (
    f"a valid label must be an empty string or consist of {_CHARACTERS}, and must start and end with an alphanumeric "
    f"character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '{_LABEL_VALUE}')"
)
_CONFIG_KEY_SENTENCE = (
    f"a valid config key must consist of {_CHARACTERS} (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used "
    f"for validation is '{_CONFIG_KEY}')"
)


def label_errors(text: str) -> Iterator[str]:
    """For an RFC 1123 label, such as the name of a Namespace, a port or a container."""
    yield from _longer(text, 63)
    if not re.fullmatch(_LABEL, text):
        yield "must not contain dots" if re.fullmatch(_SUBDOMAIN, text) else _LABEL_SENTENCE


def label_1035_errors(text: str) -> Iterator[str]:
    """For an RFC 1035 label, such as the name of a Service."""
    yield from _longer(text, 63)
    if not re.fullmatch(_LABEL_1035, text):
        yield _LABEL_1035_SENTENCE


def subdomain_errors(text: str) -> Iterator[str]:
    """For an RFC 1123 subdomain, such as most names."""
    yield from _longer(text, 253)
    if not re.fullmatch(_SUBDOMAIN, text):
        yield _SUBDOMAIN_SENTENCE


def qualified_name_errors(text: str) -> Iterator[str]:
    """For the key of a label or annotation: a name, with an optional DNS prefix and a slash before it."""
    prefix, slash, name = text.rpartition("/")
    if "/" in prefix:
        optional = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        yield f"a qualified name {_NAME_PART_SENTENCE} {optional}"
        return
    if slash and not prefix:
        yield "prefix part must be non-empty"
    elif slash:
        yield from (f"prefix part {why}" for why in subdomain_errors(prefix))
    if not name:
        yield "name part must be non-empty"
    elif len(name) > 63:
        yield "name part must be no more than 63 characters"
    if not re.fullmatch(_NAME_PART, name):
        yield f"name part {_NAME_PART_SENTENCE}"


def label_value_errors(text: str) -> Iterator[str]:
    """For the value of a label."""
    yield from _longer(text, 63)
    if not re.fullmatch(_LABEL_VALUE, text):
        yield _LABEL_VALUE_SENTENCE


def config_key_errors(text: str) -> Iterator[str]:
    """For a key of the data of a ConfigMap or Secret."""
    yield from _longer(text, 253)
    if not re.fullmatch(_CONFIG_KEY, text):
        yield _CONFIG_KEY_SENTENCE
    if text in (".", ".."):
        yield f"must not be '{text}'"
    elif text.startswith(".."):
        yield "must not start with '..'"


def port_name_errors(text: str) -> Iterator[str]:
    """For the name of a container port, which a target port refers to."""
    if len(text) > 15:
        yield "must be no more than 15 characters"
    if not re.fullmatch("[-a-z0-9]+", text):
        yield "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)"
    if not re.search("[a-z]", text):
        yield "must contain at least one letter (a-z)"
    if "--" in text:
        yield "must not contain consecutive hyphens"
    if text.startswith("-") or text.endswith("-"):
        yield "must not begin or end with a hyphen"


def environment_name_errors(text: str) -> Iterator[str]:
    """For the name of an environment variable."""
    if not re.fullmatch("[ -<>-~]+", text):
        yield "a valid environment variable name must consist only of printable ASCII characters other than '='"


@lru_cache(maxsize=4096)
def address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """The address that the text spells; IPv4 numbers may have leading zeros, which Kubernetes still
    accepts.
    """
    plain = re.sub(r"(?<![0-9a-fA-F:])0+(?=\d)", "", text) if ":" not in text else text
    try:
        return ipaddress.ip_address(plain)
    except ValueError:
        return None


def not_an_address(text: str) -> Iterator[str]:
    """For any IP address."""
    if address(text) is None or "%" in text:
        yield "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"


def not_canonical(text: str) -> Iterator[str]:
    """For an IP address in the one spelling that new fields accept."""
    found = address(text)
    if found is None:
        return
    if isinstance(found, ipaddress.IPv6Address) and found.ipv4_mapped is not None:
        yield "must not be an IPv4-mapped IPv6 address"
    elif str(found) != text:
        yield f'must be in canonical form ("{found}")'


def unreachable(text: str) -> Iterator[str]:
    """For an address that others are to reach: neither unspecified, loopback, link-local nor link-local
    multicast.
    """
    found = address(text)
    if found is None:
        return
    if found.is_unspecified:
        yield f"may not be unspecified ({found})"
    elif found.is_loopback:
        yield "may not be in the loopback range (127.0.0.0/8, ::1/128)"
    elif found.is_link_local:
        yield "may not be in the link-local range (169.254.0.0/16, fe80::/10)"
    elif any(found in network for network in _LINK_LOCAL_MULTICAST if network.version == found.version):
        yield "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"


_LINK_LOCAL_MULTICAST = (ipaddress.ip_network("224.0.0.0/24"), ipaddress.ip_network("ff02::/16"))


def not_a_network(text: str) -> Iterator[str]:
    """For an address range with its prefix length."""
    try:
        ipaddress.ip_network(text, strict=False)
        spelled = "/" in text
    except ValueError:
        spelled = False
    if not spelled:
        yield "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"


def _longer(text: str, most: int) -> Iterator[str]:
    if len(text) > most:
        yield f"must be no more than {most} characters"
