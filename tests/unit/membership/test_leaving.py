"""What may be removed when a member leaves, and what keeps it."""

from __future__ import annotations

import pytest

from mcs.membership.access import Shape, access_objects, accounts_of
from mcs.membership.cluster_dns import dns_objects
from mcs.membership.identity import Identity
from mcs.membership.joining import properties
from mcs.membership.leaving import (
    access_left,
    dns_left,
    is_member,
    leaving_problem,
    properties_left,
    still_used,
    strangers,
)
from mcs.model.meta import KubernetesObject, ObjectMeta
from mcs.model.names import ClusterId
from mcs.model.registration import KubeFedCluster
from mcs.model.slices import IPV4, Endpoint, EndpointConditions, EndpointSlice

EU = ClusterId("eu")
OURS = {"app.kubernetes.io/managed-by": "mcs-controller"}
REGISTERED = KubeFedCluster(
    metadata=ObjectMeta(name="eu", annotations={"mcs-controller/cluster-uid": "uid-eu"})
)


SHAPES: tuple[Shape, ...] = ("hub", "mesh")


def test_a_leave_removes_everything_that_a_join_brings() -> None:
    accounts = [account for shape in SHAPES for account in accounts_of(shape)]
    joined = [each for account in accounts for each in access_objects(account, "ns", federation="types")]
    joined += [*dns_objects("ns", "image"), *properties(EU, "prod", Identity())]
    removed = {*access_left(), *dns_left(), *properties_left()}
    assert {(each.resource.kind, each.name) for each in joined} == {
        (resource.kind, name) for resource, name in removed
    }


def test_the_rights_go_first_and_who_it_was_last() -> None:
    assert next(access_left())[0].kind == "ClusterRoleBinding"
    assert [name for _, name in properties_left()][-1] == "cluster.clusterset.k8s.io"


@pytest.mark.parametrize(
    ("registered", "uid", "said", "told"),
    [
        pytest.param(REGISTERED, "uid-eu", Identity("eu"), "", id="the member"),
        pytest.param(REGISTERED, "uid-eu", Identity(), "", id="a member that says nothing"),
        pytest.param(None, "uid-eu", Identity("eu"), "", id="taken up again"),
        pytest.param(REGISTERED, "uid-new", Identity(), "it is another cluster", id="rebuilt"),
        pytest.param(None, "uid-us", Identity("us"), 'says that it is "us"', id="the context of another"),
    ],
)
def test_nothing_is_removed_from_a_cluster_that_is_not_the_member(
    registered: KubeFedCluster | None, uid: str, said: Identity, told: str
) -> None:
    found = leaving_problem(EU, registered, uid, said)
    assert told in found
    assert bool(told) == bool(found)


def test_who_is_neither_registered_nor_says_so_is_no_member() -> None:
    assert is_member(REGISTERED, Identity())
    assert is_member(None, Identity("eu"))
    assert not is_member(None, Identity())


def slice_from(
    cluster: str, service: str, *ready: bool | None, labels: dict[str, str] = OURS
) -> EndpointSlice:
    endpoints = tuple(Endpoint(conditions=EndpointConditions(ready=each)) for each in ready)
    of_mirror = {
        "multicluster.kubernetes.io/source-cluster": cluster,
        "multicluster.kubernetes.io/service-name": service,
    }
    metadata = ObjectMeta(labels={**labels, **of_mirror})
    return EndpointSlice(metadata=metadata, address_type=IPV4, endpoints=endpoints)


@pytest.mark.parametrize(
    ("slices", "expected"),
    [
        ([], 0),
        ([slice_from("eu", "web", True, None, False), slice_from("us", "web", True)], 2),
        ([slice_from("eu", "web", True), slice_from("us", "web", False)], 0),
        ([slice_from("eu", "web", True), slice_from("us", "other", True)], 0),
        ([slice_from("eu", "web", False), slice_from("us", "web", True)], 0),
        ([slice_from("eu", "web", True, labels={}), slice_from("us", "web", True)], 0),
    ],
    ids=[
        "no mirrors",
        "ready ones beside those of another",
        "the last ready ones",
        "the last ready ones of one service",
        "withdrawn ones",
        "mirrors of another controller",
    ],
)
def test_a_drain_waits_for_endpoints_that_others_can_stand_in_for(
    slices: list[EndpointSlice], expected: int
) -> None:
    assert still_used(EU, slices) == expected


def test_what_is_not_ours_keeps_the_namespace() -> None:
    def named(name: str, labels: dict[str, str]) -> KubernetesObject:
        return KubernetesObject(metadata=ObjectMeta(name=name, labels=labels))

    of_kubernetes = [
        ("ConfigMap", named("kube-root-ca.crt", {})),
        ("ServiceAccount", named("default", {})),
        ("Service", named("mcs-dns", OURS)),
    ]
    assert strangers(of_kubernetes) == []
    assert strangers([*of_kubernetes, ("Secret", named("default", {}))]) == ["Secret default"]
