"""How many replicas a cluster can hold, by its Nodes and Pods and by those that wait."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from mcs.federation.capacity import (
    Capacity,
    CapacityError,
    Full,
    Replicas,
    Used,
    capacity_of,
    fits,
    footprint_of,
    needs_of,
    replicas_of,
    used_by,
)
from mcs.model.pods import Host, Pod
from mcs.model.quantities import parse_quantity
from mcs.testing.pods import amounts, host, pod, template

NOW = datetime(2026, 1, 1, 12, 0, tzinfo=UTC)
ONE = template("cpu=1")


def _affinity(*expressions: dict[str, Any]) -> dict[str, Any]:
    term = {"matchExpressions": list(expressions)}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}


def _in(key: str, *values: str, operator: str = "In") -> dict[str, Any]:
    return {"key": key, "operator": operator, "values": list(values)}


@pytest.mark.parametrize(
    ("case", "what", "hosts", "pods", "expected"),
    [
        ("as many as one node has room for", ONE, [host("a", "cpu=4")], [], 4),
        ("what is there already takes its room", ONE, [host("a", "cpu=4")], [pod("cpu=2500m", "a")], 1),
        ("free in sum but on no node", template("cpu=3"), [host("a", "cpu=2"), host("b", "cpu=2")], [], 0),
        ("each node by itself", template("cpu=3"), [host("a", "cpu=4"), host("b", "cpu=7")], [], 3),
        (
            "the scarcest resource decides",
            template("cpu=1 memory=2Gi"),
            [host("a", "cpu=9 memory=5Gi")],
            [],
            2,
        ),
        ("the limit of pods counts", ONE, [host("a", "cpu=9 pods=3")], [pod("", "a")], 2),
        ("without requests only the number of pods", template(), [host("a", "cpu=1 pods=5")], [], 5),
        ("exact to the last thousandth", template("cpu=100m"), [host("a", "cpu=300m")], [], 3),
        ("a resource that the node does not have", template("gpu=1"), [host("a", "cpu=4")], [], 0),
        ("a resource of which nothing is asked", template("gpu=0"), [host("a", "cpu=4 pods=2")], [], 2),
        ("a node that has more than it can bear", ONE, [host("a", "cpu=1")], [pod("cpu=4", "a")], 0),
        (
            "pods that have finished take up nothing",
            ONE,
            [host("a", "cpu=1")],
            [pod("cpu=1", "a", phase="Failed")],
            1,
        ),
        (
            "a pod that is deleted does until it is gone",
            ONE,
            [host("a", "cpu=1")],
            [pod("cpu=1", "a", deleted=True)],
            0,
        ),
        ("one that waits for a place takes up none", ONE, [host("a", "cpu=1")], [pod("cpu=1")], 1),
        ("a cordoned node", ONE, [host("a", "cpu=4", unschedulable=True)], [], 0),
        ("a taint", ONE, [host("a", "cpu=4", taints=["gpu=yes:NoSchedule"])], [], 0),
        ("a taint that drives out", ONE, [host("a", "cpu=4", taints=["down:NoExecute"])], [], 0),
        ("a taint that is a preference", ONE, [host("a", "cpu=4", taints=["busy:PreferNoSchedule"])], [], 4),
        ("no nodes", ONE, [], [], 0),
    ],
)
def test_what_fits_is_counted_node_by_node(
    case: str, what: dict[str, Any], hosts: list[Host], pods: list[Pod], expected: int
) -> None:
    assert fits(needs_of(what), hosts, used_by(pods)) == expected, case


@pytest.mark.parametrize(
    ("case", "spec", "is_suited"),
    [
        (
            "the same key, value and effect",
            {"tolerations": [{"key": "gpu", "value": "yes", "effect": "NoSchedule"}]},
            True,
        ),
        ("another value", {"tolerations": [{"key": "gpu", "value": "no"}]}, False),
        (
            "another effect",
            {"tolerations": [{"key": "gpu", "operator": "Exists", "effect": "NoExecute"}]},
            False,
        ),
        ("any value of the key", {"tolerations": [{"key": "gpu", "operator": "Exists"}]}, True),
        ("everything", {"tolerations": [{"operator": "Exists"}]}, True),
        ("another key", {"tolerations": [{"key": "cpu", "operator": "Exists"}]}, False),
        ("an empty key with Equal tolerates nothing", {"tolerations": [{"value": "yes"}]}, False),
    ],
)
def test_tolerations(case: str, spec: dict[str, Any], is_suited: bool) -> None:
    tainted = host("a", "cpu=1", taints=["gpu=yes:NoSchedule"])
    assert fits(needs_of(template("cpu=1", **spec)), [tainted], {}) == is_suited, case


def test_a_cordoned_node_is_tolerated_by_the_name_of_its_taint() -> None:
    spec = {"tolerations": [{"key": "node.kubernetes.io/unschedulable", "operator": "Exists"}]}
    cordoned = host("a", "cpu=1", unschedulable=True)
    assert fits(needs_of(template("cpu=1", **spec)), [cordoned], {}) == 1


@pytest.mark.parametrize(
    ("case", "spec", "is_suited"),
    [
        ("no wish", {}, True),
        ("its name", {"nodeName": "a"}, True),
        ("another name", {"nodeName": "b"}, False),
        ("a label", {"nodeSelector": {"disk": "ssd"}}, True),
        ("a label of which one is another", {"nodeSelector": {"disk": "ssd", "zone": "2"}}, False),
        ("one of the values", {"affinity": _affinity(_in("zone", "1", "2"))}, True),
        ("none of the values", {"affinity": _affinity(_in("zone", "2", "3"))}, False),
        ("one expression of two", {"affinity": _affinity(_in("zone", "1"), _in("disk", "hdd"))}, False),
        ("not in", {"affinity": _affinity(_in("zone", "1", operator="NotIn"))}, False),
        ("exists", {"affinity": _affinity(_in("disk", operator="Exists"))}, True),
        ("does not exist", {"affinity": _affinity(_in("disk", operator="DoesNotExist"))}, False),
        ("greater", {"affinity": _affinity(_in("cores", "7", operator="Gt"))}, True),
        ("not greater", {"affinity": _affinity(_in("cores", "8", operator="Gt"))}, False),
        ("less", {"affinity": _affinity(_in("cores", "9", operator="Lt"))}, True),
        ("not less", {"affinity": _affinity(_in("cores", "8", operator="Lt"))}, False),
        ("compared with no number", {"affinity": _affinity(_in("disk", "9", operator="Lt"))}, False),
        ("a term without a requirement", {"affinity": _affinity()}, False),
        (
            "only preferred",
            {"affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": []}}},
            True,
        ),
        ("nothing said, with null", {"nodeSelector": None, "affinity": None, "tolerations": None}, True),
    ],
)
def test_which_nodes_a_template_may_be_on(case: str, spec: dict[str, Any], is_suited: bool) -> None:
    node = host("a", "cpu=1", labels="disk=ssd zone=1 cores=8")
    assert fits(needs_of(template("cpu=1", **spec)), [node], {}) == is_suited, case


def test_one_of_several_terms_is_enough_and_a_field_is_the_name() -> None:
    terms = [
        {"matchExpressions": [_in("zone", "9")]},
        {"matchFields": [_in("metadata.name", "b")]},
    ]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    needs = needs_of(template("cpu=1", affinity={"nodeAffinity": required}))
    assert [fits(needs, [host(name, "cpu=1")], {}) for name in "ab"] == [0, 1]


def test_a_pod_without_a_node_is_no_part_of_what_is_used() -> None:
    assert used_by([pod("cpu=1"), pod("cpu=1", "a"), pod("cpu=2", "a")]) == {
        "a": Used(2, {"cpu": parse_quantity(3)})
    }


def test_a_host_port_is_taken_once_on_each_node() -> None:
    ported = template()
    ported["spec"]["containers"][0]["ports"] = [{"containerPort": 80, "hostPort": 8080}]
    needs = needs_of(ported)
    hosts = [host("a", "cpu=4"), host("b", "cpu=4")]
    assert fits(needs, hosts, {}) == 2
    used = {"a": Used().with_pod(needs.footprint)}
    assert fits(needs, hosts, used) == 1
    assert fits(needs, hosts, {"a": used["a"].with_pod(needs.footprint, -1)}) == 2
    on_host = template(hostNetwork=True)
    on_host["spec"]["containers"][0]["ports"] = [{"containerPort": 8080}]
    assert fits(needs_of(on_host), hosts, used) == 1


@pytest.mark.parametrize(
    ("case", "spec", "expected"),
    [
        ("containers together", {"containers": ["cpu=1", "cpu=2 memory=1"]}, "cpu=3 memory=1"),
        (
            "an init container alone, where it is more",
            {"containers": ["cpu=1"], "initContainers": ["cpu=3"]},
            "cpu=3",
        ),
        (
            "or less",
            {"containers": ["cpu=3 memory=1"], "initContainers": ["cpu=1 memory=2"]},
            "cpu=3 memory=2",
        ),
        (
            "init containers one after the other",
            {"containers": ["cpu=1"], "initContainers": ["cpu=2", "cpu=3"]},
            "cpu=3",
        ),
        (
            "a sidecar beside the containers",
            {"containers": ["cpu=1"], "initContainers": ["always cpu=2"]},
            "cpu=3",
        ),
        (
            "and beside later init containers",
            {"containers": ["cpu=1"], "initContainers": ["always cpu=2", "cpu=4"]},
            "cpu=6",
        ),
        (
            "not beside earlier ones",
            {"containers": ["cpu=1"], "initContainers": ["cpu=4", "always cpu=2"]},
            "cpu=4",
        ),
        (
            "overhead on top",
            {"containers": ["cpu=1"], "overhead": {"cpu": "250m", "memory": 64}},
            "cpu=1250m memory=64",
        ),
        (
            "a pod's own requests in place of the sum",
            {"containers": ["cpu=1"], "resources": {"requests": {"cpu": 4}}},
            "cpu=4",
        ),
        (
            "and with overhead",
            {"containers": ["cpu=1"], "resources": {"requests": {"cpu": 4}}, "overhead": {"cpu": 1}},
            "cpu=5",
        ),
        (
            "a pod's limit where no container asks",
            {"containers": [""], "resources": {"limits": {"cpu": 2}}},
            "cpu=2",
        ),
        ("but not where one asks", {"containers": ["cpu=1"], "resources": {"limits": {"cpu": 2}}}, "cpu=1"),
    ],
)
def test_what_a_pod_takes_up(case: str, spec: dict[str, Any], expected: str) -> None:
    for key in ("containers", "initContainers"):
        if key in spec:
            spec = {**spec, key: [_container(each) for each in spec[key]]}
    assert footprint_of(needs_of({"spec": spec}).spec).requests == {
        name: parse_quantity(amount) for name, amount in amounts(expected).items()
    }, case


def _container(text: str) -> dict[str, Any]:
    policy = {"restartPolicy": "Always"} if text.startswith("always ") else {}
    return {**policy, "resources": {"requests": amounts(text.removeprefix("always "))}}


def test_what_has_only_a_limit_asks_for_that() -> None:
    resources = {"limits": {"cpu": "2", "memory": "7"}, "requests": {"memory": "1"}}
    limited = {"spec": {"containers": [{"resources": resources}]}}
    assert needs_of(limited).footprint.requests == {"cpu": parse_quantity(2), "memory": parse_quantity(1)}


@pytest.mark.parametrize(
    "bad",
    [
        None,
        {},
        {"spec": {"containers": [{"resources": {"requests": {"cpu": "lots"}}}]}},
        {"spec": {"containers": 3}},
    ],
)
def test_a_template_that_cannot_be_read_says_where(bad: object) -> None:
    with pytest.raises(CapacityError, match=r"spec\.template\.spec cannot be read: "):
        needs_of(bad)


def _ago(seconds: float) -> str:
    return (NOW - timedelta(seconds=seconds)).isoformat()


@pytest.mark.parametrize(
    ("case", "pods", "expected"),
    [
        ("running and ready", [pod("", "a")], Replicas(1, 1)),
        ("running, and not ready", [pod("", "a", ready=False)], Replicas(0, 1)),
        ("starting", [pod("", "a", phase="Pending", ready=False)], Replicas(0, 1)),
        ("deleted", [pod("", "a", deleted=True)], Replicas()),
        ("finished", [pod("", "a", phase="Succeeded")], Replicas()),
        ("waiting for long", [pod(waiting_since=_ago(61))], Replicas(unschedulable=1)),
        ("waiting for a while", [pod(waiting_since=_ago(20))], Replicas(recheck=NOW + timedelta(seconds=40))),
        (
            "of two that wait the older one",
            [pod(waiting_since=_ago(20)), pod(waiting_since=_ago(50))],
            Replicas(recheck=NOW + timedelta(seconds=10)),
        ),
        ("waiting for exactly a minute", [pod(waiting_since=_ago(60))], Replicas(unschedulable=1)),
        ("waiting since nobody knows", [pod(waiting_since="yesterday")], Replicas()),
    ],
)
def test_what_the_pods_of_a_workload_tell(case: str, pods: list[Pod], expected: Replicas) -> None:
    assert replicas_of(pods, NOW) == expected, case


def _full(capacity: int, minutes: float) -> Full:
    return Full(capacity, NOW - timedelta(minutes=minutes))


def _in_minutes(minutes: float) -> datetime:
    return NOW + timedelta(minutes=minutes)


@pytest.mark.parametrize(
    ("case", "wanted", "seen", "more", "before", "expected"),
    [
        ("nothing limits it", 4, Replicas(4, 4), None, None, Capacity(None)),
        ("what has a place and what fits beside it", 4, Replicas(2, 3), 2, None, Capacity(5)),
        (
            "replicas wait: what was asked for but those",
            4,
            Replicas(2, 2, 2),
            None,
            None,
            Capacity(2, _full(2, 0), _in_minutes(10)),
        ),
        (
            "the lower counts: what waits",
            4,
            Replicas(2, 2, 2),
            7,
            None,
            Capacity(2, _full(2, 0), _in_minutes(10)),
        ),
        (
            "the lower counts: what fits",
            9,
            Replicas(2, 2, 1),
            3,
            None,
            Capacity(5, _full(8, 0), _in_minutes(10)),
        ),
        (
            "none waits any more: held",
            2,
            Replicas(2, 2),
            7,
            _full(2, 3),
            Capacity(2, _full(2, 3), _in_minutes(7)),
        ),
        ("held long enough", 2, Replicas(2, 2), 7, _full(2, 10), Capacity(9)),
        ("more have a place: there was room", 4, Replicas(3, 3), None, _full(2, 3), Capacity(None)),
        (
            "still waiting: the time is left",
            4,
            Replicas(2, 2, 2),
            None,
            _full(2, 4),
            Capacity(2, _full(2, 4), _in_minutes(6)),
        ),
        (
            "still waiting: the time is renewed",
            4,
            Replicas(2, 2, 2),
            None,
            _full(2, 5),
            Capacity(2, _full(2, 0), _in_minutes(10)),
        ),
        (
            "fewer than before",
            4,
            Replicas(1, 1, 3),
            None,
            _full(2, 1),
            Capacity(1, _full(1, 0), _in_minutes(10)),
        ),
        (
            "one begins to wait",
            4,
            Replicas(3, 3, 0, NOW + timedelta(seconds=9)),
            None,
            None,
            Capacity(None, None, NOW + timedelta(seconds=9)),
        ),
        (
            "more wait than were asked for",
            1,
            Replicas(0, 0, 3),
            None,
            None,
            Capacity(0, _full(0, 0), _in_minutes(10)),
        ),
    ],
)
def test_the_lower_of_what_fits_and_what_waited(
    case: str, wanted: int, seen: Replicas, more: int | None, before: Full | None, expected: Capacity
) -> None:
    assert capacity_of(wanted, seen, more, before, NOW) == expected, case
