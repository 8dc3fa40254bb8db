"""What would be otherwise: the difference of two plans, and what a question makes of a set."""

from __future__ import annotations

from typing import Any

import pytest

from mcs.federation.manifests import read_manifests
from mcs.federation.plans import plan_all
from mcs.federation.snapshot import Snapshot
from mcs.federation.what_if import Difference, Question, QuestionError, changed, difference, settled
from mcs.model.names import ClusterId
from mcs.testing.federated_sets import (
    CONFIG_MAP,
    by_overrides,
    cluster,
    deployment,
    federated,
    key,
    namespace,
    preference,
    snapshot,
)

EU, US = ClusterId("eu"), ClusterId("us")
SHOP = namespace("shop")
WEB, SETTINGS = key("shop/web"), key("shop/settings", CONFIG_MAP)


def asked(given: Snapshot, **question: Any) -> Difference:
    before = settled(given)
    return difference(before, plan_all(changed(before.snapshot, Question(**question)), before))


def words(found: Difference) -> list[str]:
    """`web eu 6 > 10`, with `-` where it is not placed and `*` where it is placed without replicas."""

    def word(there: Any) -> str:
        number = "*" if there.replicas is None else str(there.replicas)
        return "-" if not there.is_placed else number + (f"+{there.overflow}" if there.overflow else "")

    return [
        f"{each.object_.name} {one.cluster} {word(one.before)} > {word(one.after)}"
        for each in found.objects
        for one in each.clusters
    ]


FOUNDING = snapshot(
    "eu, us, asia",
    SHOP,
    deployment("shop/web", ""),
    by_overrides("shop/web", "eu=6 us=4", totalReplicas=10),
)


@pytest.mark.parametrize(
    ("question", "expected", "moved"),
    [
        pytest.param({}, [], 0, id="nothing"),
        pytest.param({"down": [US]}, ["web eu 6 > 10", "web us 4 > -"], 4, id="a cluster is lost"),
        pytest.param({"down": [ClusterId("asia")]}, [], 0, id="a cluster that has nothing is lost"),
        pytest.param({"cordoned": [US]}, [], 0, id="a cluster is cordoned, and keeps what it has"),
        pytest.param(
            {"cordoned": [EU], "down": [US]}, ["web us 4 > -"], 0, id="the only other one is cordoned"
        ),
        pytest.param({"weights": {US: 6}}, ["web eu 6 > 5", "web us 4 > 5"], 1, id="a weight"),
        pytest.param(
            {"weights": {ClusterId("asia"): 10}},
            ["web asia - > 5", "web eu 6 > 3", "web us 4 > 2"],
            5,
            id="a new weight",
        ),
        pytest.param({"total": 20, "object_": WEB}, ["web eu 6 > 12", "web us 4 > 8"], 0, id="a total"),
    ],
)
def test_a_question_has_its_difference(question: dict[str, Any], expected: list[str], moved: int) -> None:
    found = asked(FOUNDING, **question)
    assert (words(found), found.moved) == (expected, moved)


def test_what_runs_is_taken_to_be_as_planned_where_nothing_was_seen_of_it() -> None:
    unseen = snapshot("eu, us", SHOP, deployment("shop/web", ""), preference("shop/web", 9, "eu w2, us w1"))
    assert words(asked(unseen, weights={EU: 1})) == [], "what runs is not moved"
    seen = snapshot(
        "eu, us",
        SHOP,
        deployment("shop/web", ""),
        preference("shop/web", 9, "eu w2, us w1", current="eu=3 us=3"),
    )
    assert words(asked(seen, weights={EU: 1})) == ["web eu 6 > 5", "web us 3 > 4"]


def test_replicas_that_find_no_place_and_clusters_that_are_asked_for_too_much_are_told() -> None:
    set_ = snapshot(
        "eu, us",
        SHOP,
        deployment("shop/web", ""),
        preference("shop/web", 10, "* w1", capacity="eu=6", rebalance=True),
    )
    found = asked(set_, down=[US])
    assert words(found) == ["web eu 5 > 6+4", "web us 5 > -"]
    assert (found.objects[0].unplaced_before, found.objects[0].unplaced_after) == (0, 4)
    assert (found.moved, found.overflowing) == (1, (EU,))


def test_a_cluster_that_was_asked_for_too_much_before_is_not_told() -> None:
    full = preference("shop/web", 10, "* w1", capacity="eu=1", rebalance=True)
    set_ = snapshot("eu, us", SHOP, deployment("shop/web", ""), full)
    found = asked(set_, weights={ClusterId("us"): 2})
    assert words(found) == ["web eu 1+4 > 1+2"]
    assert found.overflowing == ()


def test_what_is_not_divided_stays_in_a_lost_cluster_and_is_told() -> None:
    set_ = snapshot("eu, us", SHOP, federated("shop/settings", "us"), federated("shop/more", "eu us"))
    found = asked(set_, down=[US])
    assert found.objects == ()
    (away,) = found.away
    assert [each.name for each in away.objects] == ["more", "settings", "shop"]
    assert (away.cluster, away.nowhere_else) == (US, (SETTINGS,))


def test_what_is_in_several_clusters_that_are_lost_is_nowhere_else_either() -> None:
    set_ = snapshot("asia, eu, moon, mars, us", SHOP, federated("shop/settings", "eu us"))
    found = asked(set_, down=[EU, US])
    assert [each.nowhere_else for each in found.away] == [(SETTINGS,), (SETTINGS,)]


def test_a_cluster_that_was_away_before_is_not_told_as_lost() -> None:
    set_ = snapshot("eu, us down", SHOP, federated("shop/settings", "us"))
    assert asked(set_, down=[US]).away == ()


def test_manifests_take_the_place_of_those_of_the_same_name_and_keep_what_was_seen() -> None:
    set_ = snapshot(
        "eu ready env=dev, us down",
        SHOP,
        federated("shop/settings", "env=prod"),
        deployment("shop/web", ""),
        preference("shop/web", 9, "eu w2, us w1", current="eu=2 us=7"),
    )
    more = read_manifests(
        [cluster("eu env=prod"), cluster("us"), cluster("asia env=prod"), preference("shop/web", 9, "* w1")]
    )
    assert words(asked(set_, set_=more)) == [
        "settings asia - > *",
        "settings eu - > *",
        "web asia - > 4",
        "web eu 9 > 5",
        "shop asia - > *",
    ]


def test_the_difference_may_be_of_one_object_only() -> None:
    set_ = snapshot(
        "eu, us",
        SHOP,
        *(
            each
            for name in ("shop/web", "shop/api")
            for each in (deployment(name, ""), by_overrides(name, "eu=1 us=1"))
        ),
    )
    before = settled(set_)
    after = plan_all(changed(before.snapshot, Question(down=[US])), before)
    assert [each.object_.name for each in difference(before, after, WEB).objects] == ["web"]
    assert words(asked(set_, weights={EU: 0}, object_=WEB)) == ["web eu 1 > 0", "web us 1 > 2"]


@pytest.mark.parametrize(
    ("question", "message"),
    [
        pytest.param(
            {"down": [ClusterId("moon")]},
            "cluster moon is not registered; name one of those that are (asia, eu, us)",
            id="a cluster that is none",
        ),
        pytest.param(
            {"weights": {ClusterId("moon"): 1}},
            "cluster moon is not registered; name one of those that are (asia, eu, us)",
            id="a weight of a cluster that is none",
        ),
        pytest.param(
            {"total": 3, "object_": SETTINGS},
            "FederatedConfigMap shop/settings has no ReplicaSchedulingPreference that can be read, so there are no "
            "weights and no total to change; write one, or change the object with -f FILE",
            id="a total of what has none",
        ),
    ],
)
def test_a_question_that_does_not_fit_the_set_is_refused(question: dict[str, Any], message: str) -> None:
    with pytest.raises(QuestionError) as error:
        changed(FOUNDING, Question(**question))
    assert str(error.value) == message
