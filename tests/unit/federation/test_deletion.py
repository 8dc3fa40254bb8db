"""How a deletion is asked for."""

from __future__ import annotations

from typing import Any

import pytest

from mcs.federation.deletion import delete_options
from mcs.federation.overrides import NotMade
from mcs.model.federated import DELETION_FAILED, FederatedObject
from mcs.model.meta import ObjectMeta


def asked(text: str | None) -> dict[str, Any] | NotMade:
    """What an annotation of this text asks for."""
    annotations = {} if text is None else {"kubefed.io/deleteoption": text}
    return delete_options(FederatedObject(metadata=ObjectMeta(annotations=annotations)))


def test_options_are_those_of_the_annotation() -> None:
    assert asked(None) == asked("") == {}
    assert asked('{"gracePeriodSeconds": 5, "propagationPolicy": "Orphan"}') == {
        "gracePeriodSeconds": 5,
        "propagationPolicy": "Orphan",
    }


@pytest.mark.parametrize("text", ["Orphan", "[]", "5", '{"a":'])
def test_what_cannot_be_read_is_told_and_deletes_nothing(text: str) -> None:
    found = asked(text)
    assert isinstance(found, NotMade)
    assert found.status == DELETION_FAILED
    assert "kubefed.io/deleteoption" in found.message
