"""The stanza in a cluster's Corefile that has its CoreDNS ask `mcs dns`, between two markers of ours.

What was there is kept byte for byte: the stanza is put in front, so that nothing depends on how the rest ends.
Source: CoreDNS, "Configuration": server blocks, comments, and that the most specific zone answers. Reading and
writing the ConfigMap is left to others.
"""

import re
from collections.abc import Iterator

from msgspec import Struct

from mcs.model.names import ANNOTATION_PREFIX

COREFILE_KEY = "Corefile"
"""Key of the ConfigMap."""
_TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|`[^`]*`|[^\s"`]+', re.DOTALL)
_DEFAULT_PORT = "53"


class CorefileError(Exception):
    """The Corefile cannot be changed; the message says why and what to do."""


class _Block(Struct, frozen=True):
    """A server block: the zones and ports it answers, and its directives, each with its arguments."""

    addresses: tuple[tuple[str, str], ...]
    directives: tuple[tuple[str, ...], ...]


def with_stanza(corefile: str, zone: str, server: str) -> str:
    """The Corefile with our stanza, which forwards `zone` to `server`, in place of an older one of ours.

    It listens where the block for the root zone does. Raises CorefileError when another block answers the zone, or
    when the file cannot be understood.
    """
    others = without_stanza(corefile, zone)
    blocks = tuple(_blocks(others, zone, server))
    if any(zone == answered for block in blocks for answered, _ in block.addresses):
        raise CorefileError(
            f"its Corefile already has a server block for {zone}, which is not ours; remove that block, or join with "
            "--no-dns and let it forward to mcs dns itself"
        )
    return _stanza(zone, server, blocks) + others


def without_stanza(corefile: str, zone: str) -> str:
    """The Corefile without our stanza; unchanged when it has none. Raises CorefileError for half a stanza."""
    begin, end = _markers(zone)
    before, found, rest = corefile.partition(begin)
    if not found and end not in corefile:
        return corefile
    _, closed, after = rest.partition(end)
    if not found or not closed:
        raise CorefileError(
            f"its Corefile has only one of the lines {begin.strip()!r} and {end.strip()!r}; remove what is left of "
            "the stanza by hand"
        )
    return before + after


def reloads(corefile: str) -> bool:
    """Whether CoreDNS notices by itself that its Corefile has changed (plugin reload, in any block)."""
    try:
        return any(each[0] == "reload" for block in _parsed(corefile) for each in block.directives)
    except CorefileError:
        return False


def _markers(zone: str) -> tuple[str, str]:
    return f"# BEGIN {ANNOTATION_PREFIX} {zone}\n", f"# END {ANNOTATION_PREFIX} {zone}\n"


def _stanza(zone: str, server: str, blocks: tuple[_Block, ...]) -> str:
    begin, end = _markers(zone)
    root = next((block for block in blocks if any(name == "." for name, _ in block.addresses)), None)
    port = (
        next((port for name, port in root.addresses if name == "."), _DEFAULT_PORT) if root else _DEFAULT_PORT
    )
    # A socket of one address and one of all addresses on the same port would share the queries between them.
    binds = [" ".join(each) for each in root.directives if each[0] == "bind"] if root else []
    lines = ("errors", *binds, f"forward . {server}", "cache 5 {", "    servfail 0", "}")
    return "\n".join([begin + f"{zone}:{port} {{", *(f"    {line}" for line in lines), "}", end])


def _blocks(corefile: str, zone: str, server: str) -> Iterator[_Block]:
    try:
        yield from _parsed(corefile)
    except CorefileError as error:
        stanza = " ".join(_stanza(zone, server, ()).split("\n")[1:-2])
        raise CorefileError(
            f"{error}; join with --no-dns and add this by hand: {' '.join(stanza.split())}"
        ) from None


def _parsed(corefile: str) -> Iterator[_Block]:
    """The server blocks. Raises CorefileError for a file whose blocks have no braces, or do not close."""
    addresses: list[tuple[str, str]] = []
    directives: list[tuple[str, ...]] = []
    depth = 0
    for words in _lines(corefile):
        opens, closes = words.count("{"), words.count("}")
        if depth == 0:
            if words[0] in ("import", "}"):
                addresses = []
                continue
            named = words[: words.index("{")] if opens else words
            # A snippet, "(name) {", is no server block.
            addresses += [] if named and named[0].startswith("(") else [_address(name) for name in named]
            if not opens:
                continue
        elif depth == 1 and words[0] != "}":
            directives.append(tuple(word for word in words if word not in ("{", "}")))
        depth += opens - closes
        if depth <= 0:
            yield _Block(tuple(addresses), tuple(directives))
            addresses, directives, depth = [], [], 0
    if depth or addresses:
        raise CorefileError("its Corefile has server blocks without braces, or that do not end")


def _lines(corefile: str) -> Iterator[list[str]]:
    """The words of each line that has any, without comments."""
    for line in corefile.splitlines():
        words: list[str] = []
        for token in _TOKEN.findall(line):
            if token.startswith("#"):
                break
            words.append(token)
        if words:
            yield words


def _address(text: str) -> tuple[str, str]:
    """Zone and port of a key such as "dns://example.org:1053,"; the root zone is "."."""
    name = text.strip('",').lower().rpartition("://")[2]
    zone, colon, port = name.rpartition(":")
    if not colon or not port.isdecimal():
        zone, port = name, _DEFAULT_PORT
    return zone.rstrip(".") or ".", port
