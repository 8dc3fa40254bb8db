"""Which clusters may have replicas just now, by what their registrations tell and by the clock."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest

from mcs.federation.fail_over import ObservedCluster, Standings, Terms, standings
from mcs.model.meta import timestamp
from mcs.model.names import ClusterId
from mcs.model.taints import Taint, Toleration

NOW = datetime(2026, 1, 1, 12, 0, tzinfo=UTC)
TERMS = Terms(grace=timedelta(seconds=60), hold_down=timedelta(seconds=20), pace=timedelta(seconds=100))


def _cluster(
    name: str, state: str, seconds: float | None = 10_000, *, taints: Sequence[Taint] = (), marks: str = ""
) -> ObservedCluster:
    """A cluster that has been `ready` or `away` for so many seconds, with `marks` of cordon and drain."""
    return ObservedCluster(
        cluster=ClusterId(name),
        is_ready=state == "ready",
        since=None if seconds is None else NOW - timedelta(seconds=seconds),
        is_cordoned="cordoned" in marks,
        is_draining="draining" in marks,
        is_drained="drained" in marks,
        taints=taints,
    )


def _stand(
    *clusters: ObservedCluster, out: str = "", tolerations: Sequence[Toleration] = (), later: float = 0
) -> Standings:
    names = [ClusterId(each) for each in out.split()]
    return standings(clusters, tolerations, names, NOW + timedelta(seconds=later), TERMS)


def _words(found: Standings) -> str:
    return " ".join(each.standing for each in found.of.values())


WELL = _cluster("z", "ready")
OTHERS = (WELL, _cluster("y", "ready"), _cluster("x", "ready"))


@pytest.mark.parametrize(
    ("case", "cluster", "out", "standing", "part", "due"),
    [
        ("ready", _cluster("a", "ready"), "", "Ready", "share", None),
        ("ready since nobody knows", _cluster("a", "ready", None), "", "Ready", "share", None),
        ("away for less than the grace", _cluster("a", "away", 59), "", "NotReady", "keep", 1),
        ("away for the grace", _cluster("a", "away", 60), "", "Lost", "leave", None),
        ("never probed", _cluster("a", "away", None), "", "NotProbed", "keep", None),
        ("given up, and away anew", _cluster("a", "away", 1), "a", "Lost", "leave", None),
        ("given up, and never probed since", _cluster("a", "away", None), "a", "Lost", "leave", None),
        ("just back after it was given up", _cluster("a", "ready", 5), "a", "Returned", "leave", 15),
        ("back for the hold-down", _cluster("a", "ready", 20), "a", "Ready", "share", None),
        ("back since nobody knows", _cluster("a", "ready", None), "a", "Ready", "share", None),
        ("just back, but it was not given up", _cluster("a", "ready", 5), "", "Ready", "share", None),
        ("cordoned", _cluster("a", "ready", marks="cordoned"), "", "Cordoned", "keep", None),
        ("drained", _cluster("a", "ready", marks="drained cordoned"), "", "Drained", "move", None),
        ("being drained", _cluster("a", "ready", marks="draining cordoned"), "", "Draining", "leave", None),
        ("being drained and away", _cluster("a", "away", 60, marks="draining"), "", "Lost", "leave", None),
        ("cordoned and away", _cluster("a", "away", 60, marks="cordoned"), "", "Lost", "leave", None),
    ],
)
def test_a_cluster_by_its_readiness_and_what_its_operator_marks(
    case: str, cluster: ObservedCluster, out: str, standing: str, part: str, due: float | None
) -> None:
    found = _stand(cluster, *OTHERS, out=out)
    stands = found.of[ClusterId("a")]
    assert (stands.standing, stands.part) == (standing, part), case
    assert found.due == (None if due is None else NOW + timedelta(seconds=due))
    assert [found.of[each.cluster].standing for each in OTHERS] == ["Ready"] * 3


def _taint(effect: str, added: float | None = None) -> Taint:
    moment = None if added is None else timestamp(NOW - timedelta(seconds=added))
    return Taint(key="down", effect=effect, value="yes", time_added=moment)


DOWN = Toleration(key="down", operator="Exists")
DOWN_FOR_A_MINUTE = Toleration(key="down", operator="Exists", toleration_seconds=60)
DOWN_FOR_AN_HOUR = Toleration(key="down", operator="Exists", toleration_seconds=3600)


@pytest.mark.parametrize(
    ("case", "taint", "tolerations", "standing", "due"),
    [
        ("nothing new", _taint("NoSchedule"), [], "Tainted", None),
        ("tolerated", _taint("NoSchedule"), [DOWN], "Ready", None),
        ("only a preference", _taint("PreferNoSchedule"), [], "Ready", None),
        ("driven out", _taint("NoExecute"), [], "Evicted", None),
        ("driven out, since when does not matter", _taint("NoExecute", 1), [], "Evicted", None),
        ("tolerated for ever", _taint("NoExecute", 1), [DOWN], "Ready", None),
        ("tolerated for a while", _taint("NoExecute", 20), [DOWN_FOR_A_MINUTE], "Tainted", 40),
        (
            "for as long as the shortest",
            _taint("NoExecute", 20),
            [DOWN_FOR_AN_HOUR, DOWN, DOWN_FOR_A_MINUTE],
            "Tainted",
            40,
        ),
        ("tolerated long enough", _taint("NoExecute", 60), [DOWN_FOR_A_MINUTE], "Evicted", None),
        ("for seconds from nobody knows when", _taint("NoExecute"), [DOWN_FOR_A_MINUTE], "Evicted", None),
        (
            "for less than nothing",
            _taint("NoExecute", 0),
            [Toleration(key="down", operator="Exists", toleration_seconds=-5)],
            "Evicted",
            None,
        ),
        ("another is tolerated", _taint("NoExecute"), [Toleration(key="up")], "Evicted", None),
    ],
)
def test_taints_of_a_cluster(
    case: str, taint: Taint, tolerations: list[Toleration], standing: str, due: float | None
) -> None:
    found = _stand(_cluster("a", "ready", taints=[taint]), WELL, tolerations=tolerations)
    assert found.of[ClusterId("a")].standing == standing, case
    assert found.due == (None if due is None else NOW + timedelta(seconds=due))


@pytest.mark.parametrize(
    ("case", "clusters", "out", "words"),
    [
        ("half of them is not more", "away ready", "", "Lost Ready"),
        ("more than half", "away away ready", "", "CutOff CutOff Ready"),
        ("all", "away away", "", "CutOff CutOff"),
        ("who was given up before stays so", "away away ready", "a", "Lost CutOff Ready"),
    ],
)
def test_when_more_than_half_are_away_nothing_moves(case: str, clusters: str, out: str, words: str) -> None:
    observed = [_cluster(name, state, 1000) for name, state in zip("abc", clusters.split(), strict=False)]
    found = _stand(*observed, out=out)
    assert _words(found) == words, case
    assert found.due is None


def test_graces_count_anew_when_no_more_than_half_are_away_any_more() -> None:
    """a and b were away for long, and b is back for 10 s: until then two of three were away."""
    clusters = [_cluster("a", "away", 1000), _cluster("b", "ready", 10), _cluster("c", "ready", 5000)]
    assert _words(_stand(*clusters[::-1])) == _words(_stand(*clusters)) == "NotReady Ready Ready"
    assert _stand(*clusters).due == NOW + timedelta(seconds=50)
    assert _words(_stand(*clusters, later=50)) == "Lost Ready Ready"


def test_who_went_later_was_not_away_when_another_came_back() -> None:
    """Of five, a was away for long and b came back 10 s ago; c went since, so that never more than two were away."""
    clusters = [_cluster("a", "away", 1000), _cluster("b", "ready", 10), _cluster("c", "away", 5)]
    assert _words(_stand(*clusters, *OTHERS[:2])) == "Lost Ready NotReady Ready Ready"


def test_who_was_never_probed_is_not_away() -> None:
    clusters = [_cluster("a", "away", 1000), _cluster("b", "away", None), _cluster("c", "away", None)]
    assert _words(_stand(*clusters)) == "Lost NotProbed NotProbed"


def test_clusters_are_given_up_one_after_the_other_the_first_that_was_lost_first() -> None:
    """The pace is 100 s, the grace 60 s."""
    well = [_cluster(name, "ready") for name in "wxyz"]
    lost = [_cluster("a", "away", 60), _cluster("b", "away", 65), _cluster("c", "away", 30)]
    first = _stand(*lost, *well)
    assert _words(first) == "EvictionBudget Lost NotReady Ready Ready Ready Ready"
    assert "until 2026-01-01T12:01:35Z" in first.of[ClusterId("a")].message
    assert first.due == NOW + timedelta(seconds=95)
    assert _words(_stand(*lost, *well, later=94, out="b")).startswith("EvictionBudget Lost EvictionBudget")
    assert _words(_stand(*lost, *well, later=95, out="b")).startswith("Lost Lost EvictionBudget")
    assert _words(_stand(*lost, *well, later=195, out="a b")).startswith("Lost Lost Lost")
    returned = [lost[0], _cluster("b", "ready", 1), lost[2]]
    assert _words(_stand(*returned, *well)).startswith("Lost Ready NotReady")


def test_messages_say_since_when_and_until_when() -> None:
    found = _stand(_cluster("a", "away", 30), _cluster("b", "ready", 5), *OTHERS, out="b").of
    assert found[ClusterId("a")].message == (
        "is not ready since 2026-01-01T11:59:30Z, and keeps what it has until 2026-01-01T12:00:30Z"
    )
    assert found[ClusterId("b")].message == "is back, and has replicas again from 2026-01-01T12:00:15Z on"
    assert found[ClusterId("z")].message == ""
