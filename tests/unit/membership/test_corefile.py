"""The stanza in a Corefile: where it goes, that the rest stays byte for byte, and what cannot be changed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcs.membership.corefile import CorefileError, reloads, with_stanza, without_stanza

ZONE = "clusterset.local"
PLAIN = """.:53 {
    errors
    kubernetes cluster.local in-addr.arpa ip6.arpa {
       pods insecure
    }
    forward . /etc/resolv.conf {
       max_concurrent 1000
    }
    reload
}
"""
STANZA = """# BEGIN mcs-controller clusterset.local
clusterset.local:53 {
    errors
    forward . 10.96.0.53
    cache 5 {
        servfail 0
    }
}
# END mcs-controller clusterset.local
"""


def test_the_stanza_stands_in_front_of_what_was_there() -> None:
    assert with_stanza(PLAIN, ZONE, "10.96.0.53") == STANZA + PLAIN


@pytest.mark.parametrize(
    "corefile",
    [
        PLAIN,
        PLAIN.rstrip(),
        f"\n\n# by hand\n{PLAIN}\t ",
        PLAIN.replace("\n", "\r\n"),
        f"(common) {{\n    errors\n}}\n{PLAIN}example.org {{\n    import common\n}}\n",
        'import extra/*.server\n.:53 {\n    log . "{remote} # {name}" {\n    }\n}\n',
    ],
    ids=["plain", "no newline at the end", "comments and blanks", "CRLF", "snippets", "imports and quotes"],
)
def test_what_was_there_comes_back_byte_for_byte(corefile: str) -> None:
    joined = with_stanza(corefile, ZONE, "10.96.0.53")
    assert joined.endswith(corefile)
    assert with_stanza(joined, ZONE, "10.96.0.53") == joined
    assert without_stanza(joined, ZONE) == corefile
    assert without_stanza(corefile, ZONE) == corefile


def test_a_stanza_of_ours_with_another_address_is_replaced() -> None:
    before = with_stanza(PLAIN, ZONE, "10.96.0.1")
    assert with_stanza(before, ZONE, "10.96.0.53") == STANZA + PLAIN


@pytest.mark.parametrize(
    ("root", "listens", "binds"),
    [
        (".:53", "clusterset.local:53", ""),
        (".:1053", "clusterset.local:1053", ""),
        ("dns://.:5353", "clusterset.local:5353", ""),
        (".", "clusterset.local:53", ""),
        ("cluster.local:1053, .:1054", "clusterset.local:1054", ""),
        ("example.org:1053", "clusterset.local:53", ""),
        (
            ".:53 {\n    bind 169.254.20.10 10.0.0.10\n",
            "clusterset.local:53",
            "    bind 169.254.20.10 10.0.0.10\n",
        ),
    ],
)
def test_it_listens_where_the_root_zone_does(root: str, listens: str, binds: str) -> None:
    corefile = f"{root}{'' if '{' in root else ' {'}\n    errors\n}}\n"
    joined = with_stanza(corefile, ZONE, "10.96.0.53")
    assert (
        joined
        == STANZA.replace("clusterset.local:53 {\n    errors\n", f"{listens} {{\n    errors\n{binds}")
        + corefile
    )


@pytest.mark.parametrize(
    ("key", "is_taken"),
    [
        ("clusterset.local:53", True),
        ("clusterset.local", True),
        ("Clusterset.Local.:53", True),
        ("dns://clusterset.local", True),
        ("example.org clusterset.local:1053", True),
        ("example.org,\nclusterset.local", True),
        ("local:53", False),
        ("web.clusterset.local:53", False),
        ("(clusterset.local)", False),
        ("# clusterset.local\nexample.org", False),
    ],
)
def test_another_server_block_for_the_zone_is_refused(key: str, is_taken: bool) -> None:
    corefile = f"{PLAIN}{key} {{\n    forward . 10.0.0.1\n}}\n"
    if is_taken:
        with pytest.raises(CorefileError, match="already has a server block for clusterset"):
            with_stanza(corefile, ZONE, "10.96.0.53")
    else:
        assert with_stanza(corefile, ZONE, "10.96.0.53").endswith(corefile)


@pytest.mark.parametrize(
    "corefile", [".:53\nerrors\nforward . 10.0.0.1\n", ".:53 {\n    errors\n", "example.org\n"]
)
def test_a_corefile_that_is_not_understood_is_left_alone_with_what_to_add_by_hand(corefile: str) -> None:
    with pytest.raises(
        CorefileError,
        match=r"--no-dns and add this by hand: clusterset.local:53 \{ errors forward . 10.96.0.53",
    ):
        with_stanza(corefile, ZONE, "10.96.0.53")


@pytest.mark.parametrize("half", STANZA.splitlines(keepends=True)[:: len(STANZA.splitlines()) - 1])
def test_half_a_stanza_is_not_guessed_at(half: str) -> None:
    with pytest.raises(CorefileError, match="by hand"):
        without_stanza(half + PLAIN, ZONE)
    with pytest.raises(CorefileError, match="by hand"):
        with_stanza(half + PLAIN, ZONE, "10.0.0.1")


@pytest.mark.parametrize(
    ("corefile", "expected"),
    [
        (PLAIN, True),
        (PLAIN.replace("    reload\n", ""), False),
        ("(c) {\n reload\n}\n", True),
        (".:53\nreload", False),
    ],
)
def test_whether_core_dns_notices_a_change_by_itself(corefile: str, expected: bool) -> None:
    assert reloads(corefile) == expected


@given(st.text(alphabet=st.sampled_from('{}#\n\r"` .:az5'), max_size=60))
def test_any_text_is_either_refused_or_comes_back_as_it_was(corefile: str) -> None:
    try:
        joined = with_stanza(corefile, ZONE, "10.0.0.1")
    except CorefileError:
        return
    assert without_stanza(joined, ZONE) == corefile
