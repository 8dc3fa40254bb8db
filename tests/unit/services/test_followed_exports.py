"""Which exports follow replicas."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from mcs.model.actions import Apply, Delete
from mcs.model.multicluster import ServiceExport
from mcs.model.names import FOLLOWS_ANNOTATION, MANAGED_BY, MANAGED_BY_LABEL, ClusterId
from mcs.model.selectors import parse_selector
from mcs.services.auto_export import ObservedService, plan_auto_export
from mcs.services.followed_exports import ObservedReplicas, follows, plan_followed_exports
from mcs.testing.builders import WEB, export

A, B, C = (ClusterId(each) for each in "abc")


def follower(*, terminating: bool = False) -> ServiceExport:
    made = export(terminating=terminating)
    labels, annotations = {MANAGED_BY_LABEL: MANAGED_BY}, {FOLLOWS_ANNOTATION: "true"}
    return replace(made, metadata=replace(made.metadata, labels=labels, annotations=annotations))


def planned(
    exports: dict[ClusterId, ServiceExport], present: str = "", absent: str = "", unseen: str = ""
) -> dict[str, str]:
    """What is done in which cluster."""
    actions = plan_followed_exports(
        ObservedReplicas(
            key=WEB,
            exports=exports,
            present=[ClusterId(each) for each in present],
            absent=[ClusterId(each) for each in absent],
            unseen=[ClusterId(each) for each in unseen],
        )
    )
    return {cluster: "make" if isinstance(each, Apply) else "take back" for cluster, each in actions.items()}


@pytest.mark.parametrize(
    ("case", "found", "expected"),
    [
        ("replicas come to a cluster", planned({A: export()}, "ab"), {"b": "make"}),
        ("nobody exports it", planned({}, "ab"), {}),
        ("only an export that goes does", planned({A: export(terminating=True)}, "ab"), {}),
        ("it is exported there by somebody", planned({A: export(), B: export()}, "ab"), {}),
        ("it follows there already", planned({A: export(), B: follower()}, "ab"), {}),
        ("that cluster's exports are not known", planned({A: export()}, "ab", unseen="b"), {}),
        ("another's are not", planned({A: export()}, "ab", unseen="c"), {"b": "make"}),
        ("replicas are elsewhere", planned({A: export(), B: follower()}, "a", "b"), {"b": "take back"}),
        ("where they are is not known", planned({A: export(), B: follower()}, "a"), {}),
        ("a user's export stays without replicas", planned({A: export(), B: export()}, "a", "b"), {}),
        ("nobody else exports it any more", planned({B: follower()}, "b"), {"b": "take back"}),
        ("somebody may, who is not seen", planned({B: follower()}, "b", unseen="a"), {}),
        ("what goes already", planned({B: follower(terminating=True)}, "", "b"), {}),
        ("an unseen cluster keeps it", planned({A: export(), B: follower()}, "a", "b", unseen="b"), {}),
    ],
)
def test_what_is_made_and_taken_back(case: str, found: dict[str, str], expected: dict[str, str]) -> None:
    assert found == expected, case


def test_it_says_what_the_oldest_export_says_and_that_it_follows() -> None:
    exports = {
        A: export(created=9, labels={"said": "later"}),
        B: export(created=1, labels={"said": "first"}),
    }
    actions = plan_followed_exports(ObservedReplicas(key=WEB, exports=exports, present=[C]))
    (made,) = actions.values()
    assert isinstance(made, Apply)
    assert isinstance(made.object, ServiceExport)
    assert (made.cluster, made.object.key, follows(made.object)) == (C, WEB, True)
    assert made.object.spec.exported_labels == {"said": "first"}


def test_one_that_is_taken_back_is_taken_back_as_it_was_seen() -> None:
    actions = plan_followed_exports(ObservedReplicas(key=WEB, exports={B: follower()}, present=[]))
    (made,) = actions.values()
    assert isinstance(made, Delete)
    assert made.uid == follower().metadata.uid


def test_automatic_export_takes_none_of_them_back() -> None:
    observed = ObservedService(B, WEB, None, follower())
    assert plan_auto_export(observed, parse_selector("tier=web")) == ()
