"""Label selectors: which labels each selects, and what is none."""

import pytest

from mcs.model.selectors import parse_selector

WEB = {"tier": "web", "env": "prod", "example.com/team": "a"}


@pytest.mark.parametrize(
    ("selector", "is_selected"),
    [
        ("tier=web", True),
        ("tier==web", True),
        ("tier = web", True),
        ("tier=db", False),
        ("zone=", False),
        ("tier!=db", True),
        ("tier!=web", False),
        ("zone!=a", True),
        ("env in (prod, stage)", True),
        ("env in (stage)", False),
        ("env notin (stage,test)", True),
        ("env notin (prod)", False),
        ("zone notin (a)", True),
        ("tier", True),
        ("zone", False),
        ("!zone", True),
        ("!tier", False),
        ("example.com/team=a", True),
        ("tier=web,env in (prod,stage),!zone", True),
        ("tier=web,env in (prod,stage),zone", False),
        ("", False),
        ("  ", False),
    ],
)
def test_what_is_selected(selector: str, is_selected: bool) -> None:
    assert parse_selector(selector).selects(WEB) is is_selected
    assert parse_selector("").selects({}) is False


@pytest.mark.parametrize(
    "text", ["=web", "tier=we b", "a,,b", "tier in web", "tier in (a b)", "tier>3", "!", "a=b=c"]
)
def test_what_is_no_selector(text: str) -> None:
    with pytest.raises(ValueError, match="is no label requirement"):
        parse_selector(text)
