"""Whether a cluster is the member that it was given for."""

import pytest

from mcs.membership.identity import Identity, change_problem, clusterset_problem, identity_problem
from mcs.model.names import ClusterId

EAST, WEST, SOUTH = ClusterId("east"), ClusterId("west"), ClusterId("south")


@pytest.mark.parametrize(
    ("case", "said", "is_refused"),
    [
        ("a cluster that says nothing of itself", Identity(), False),
        ("one that says it is the one", Identity("east", "set"), False),
        ("one that says it is another", Identity("west", "set"), True),
        ("an id differs by case", Identity("East"), True),
        ("an empty id is another", Identity(""), True),
    ],
)
def test_who_is_refused(case: str, said: Identity, is_refused: bool) -> None:
    assert bool(identity_problem(EAST, said)) is is_refused, case


def test_the_problem_says_what_to_do() -> None:
    assert identity_problem(EAST, Identity("west")) == (
        'its ClusterProperty "cluster.clusterset.k8s.io" says that it is "west", not "east"; give it as west=CONTEXT, '
        "or correct its context or the property"
    )


@pytest.mark.parametrize(
    ("case", "before", "now", "is_refused"),
    [
        ("a member stays in its clusterset", "blue", "blue", False),
        ("one moves to another", "blue", "red", True),
        ("one names its clusterset for the first time", None, "blue", False),
        ("one names none any more", "blue", None, False),
        ("one never names any", None, None, False),
    ],
)
def test_a_member_does_not_move(case: str, before: str | None, now: str | None, is_refused: bool) -> None:
    problem = change_problem(Identity("east", before), Identity("east", now))
    assert bool(problem) is is_refused, case
    if is_refused:
        assert problem == (
            'its ClusterProperty "clusterset.k8s.io" was "blue" and is now "red", but a member stays in its '
            "clusterset; correct the property, or restart the controller if all members have moved"
        )


@pytest.mark.parametrize(
    ("case", "sets", "named"),
    [
        ("all in one", ("blue", "blue", "blue"), []),
        ("who says nothing disagrees with nobody", ("blue", None, "blue"), []),
        ("nor does anybody with it", (None, "blue", "red"), []),
        ("one is in another", ("blue", "red", "blue"), ['"west" in "red"']),
        ("all differ", ("blue", "red", "green"), ['"south" in "green"', '"west" in "red"']),
    ],
)
def test_members_of_different_clustersets(case: str, sets: tuple[str | None, ...], named: list[str]) -> None:
    said = {cluster: Identity(cluster, name) for cluster, name in zip((EAST, WEST, SOUTH), sets, strict=True)}
    problem = clusterset_problem(EAST, said)
    assert bool(problem) is bool(named), case
    assert all(each in problem for each in named), case
