"""Who is a member, and what is the same for all members: terminology of KEP-1645, and KEP-2149."""

import pytest

from mcs.cli.options import parse_clusters
from mcs.cli.problems import WrongOptionError
from mcs.membership.identity import Identity, clusterset_problem, identity_problem
from mcs.model.names import ClusterId, ServiceKey, cluster_id_error
from mcs.services.plan import plan_target
from mcs.testing.builders import export, exporter, observed_target, service
from mcs.testing.simulated_clusterset import CLUSTERS, exports
from tests.conformance.small_clusterset import exporting, settled

EAST, WEST = ClusterId("east"), ClusterId("west")
KUBERNETES_KEYS = {
    "app.kubernetes.io/managed-by",
    "endpoints.kubernetes.io/last-change-trigger-time",
    "endpointslice.kubernetes.io/managed-by",
    "kubernetes.io/service-name",
    "multicluster.kubernetes.io/derived-service",
    "multicluster.kubernetes.io/service-name",
    "multicluster.kubernetes.io/source-cluster",
}


@pytest.mark.spec("KEP-1645#terminology: namespace sameness", "MUST")
@pytest.mark.parametrize("other", [ServiceKey("other", "web"), ServiceKey("demo", "other")])
def test_exports_of_another_namespace_or_name_never_meet(other: ServiceKey) -> None:
    assert plan_target(observed_target(exports("c2", service(other), key=other))) == ()
    # The second of these exports a Service by an export that is for another one.
    for odd in (exports("c2", service(other), key=other), exports("c2", service(), key=other)):
        world = settled(exports("c1", service()), odd)
        assert exporting(world) == [["c1"]] * 3
    assert world.served("http") == ["c1"]


@pytest.mark.spec("KEP-1645#terminology: cluster name", "MUST")
@pytest.mark.parametrize("name", ["", "East", "-east", "east-", "east_1", "é", "e" * 64])
def test_a_name_that_is_no_dns_label_is_refused(name: str) -> None:
    assert cluster_id_error(name)
    assert cluster_id_error(f"{name}.fleet")


@pytest.mark.spec("KEP-1645#terminology: cluster id", "MUST")
@pytest.mark.parametrize(
    ("text", "is_accepted"),
    [
        ("east", True),
        ("1", True),
        ("east.fleet-1", True),
        ("east.fleet.1", False),
        ("east.", False),
        ("east.Fleet", False),
    ],
)
def test_an_id_is_a_name_or_a_name_and_one_label(text: str, is_accepted: bool) -> None:
    assert (cluster_id_error(text) is None) is is_accepted


@pytest.mark.spec("KEP-1645#terminology: one cluster, one id", "MUST")
def test_an_id_that_is_taken_is_refused_with_what_to_do() -> None:
    with pytest.raises(WrongOptionError, match="given twice; give every member an id of its own"):
        parse_clusters(["east=one", "east=other"])


@pytest.mark.spec("KEP-1645#terminology: a changed id", "SHOULD")
def test_a_member_that_calls_itself_otherwise_than_before_is_not_that_member() -> None:
    assert identity_problem(EAST, Identity("east")) == ""
    assert identity_problem(EAST, Identity("east2"))


@pytest.mark.spec("KEP-2149#overview: the id is a property", "MUST")
def test_the_property_of_the_id_decides_who_a_cluster_is() -> None:
    problem = identity_problem(EAST, Identity("west"))
    assert problem.startswith('its ClusterProperty "cluster.clusterset.k8s.io" says that it is "west"')
    assert problem.endswith("correct its context or the property")


@pytest.mark.spec("KEP-2149#overview: the clusterset is a property", "MUST")
def test_members_whose_properties_name_different_clustersets_are_told_apart() -> None:
    said = {EAST: Identity("east", "blue"), WEST: Identity("west", "red")}
    assert clusterset_problem(EAST, said) == (
        'its ClusterProperty "clusterset.k8s.io" puts it in "blue", but "west" in "red"; correct the wrong one'
    )
    assert clusterset_problem(EAST, {**said, WEST: Identity("west", "blue")}) == ""


@pytest.mark.spec("KEP-2149#contents: an id fits a label", "MUST")
def test_an_id_that_no_label_can_hold_is_refused_with_what_to_do() -> None:
    id_ = f"{'e' * 31}.{'f' * 31}"
    assert cluster_id_error(id_) is None
    assert cluster_id_error(f"{id_}f") == f"cluster id '{id_}f' has 64 characters; choose one of at most 63"


@pytest.mark.spec("KEP-2149#additional-properties: reserved suffixes", "MUST NOT")
def test_labels_and_annotations_of_our_own_are_not_under_a_reserved_suffix() -> None:
    told = export(labels={"tier": "web"}, annotations={"note": "text"})
    world = settled(exporter("c1", service(), export_=told), exports("c2", service()))
    objects = [obj for cluster in CLUSTERS for obj in world.targets[cluster].objects.values()]
    keys = {key for obj in objects for key in (*obj.metadata.labels, *obj.metadata.annotations)}
    reserved = {key for key in keys if key.partition("/")[0].endswith(("k8s.io", "kubernetes.io"))}
    assert reserved <= KUBERNETES_KEYS
    assert {key for key in keys - reserved if "/" in key} == {"mcs-controller/exported-keys"}
