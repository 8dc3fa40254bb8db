"""Where federated objects are placed. The vectors have the numbers of KubeFed's documented behaviour."""

from __future__ import annotations

import pytest

from mcs.federation.placement import (
    Exclusion,
    Gate,
    NotPlaced,
    Placed,
    Registered,
    exclusion,
    is_protected_namespace,
    namespace_problem,
    place,
)
from mcs.model.federated import (
    ClusterReference,
    FederatedObject,
    LabelSelector,
    LabelSelectorRequirement,
    Placement,
)
from mcs.model.meta import ObjectMeta
from mcs.model.names import ClusterId

PROD, DEV = {"env": "prod"}, {"env": "dev"}
CLUSTERS: Registered = {ClusterId("c1"): PROD, ClusterId("c2"): PROD, ClusterId("c3"): DEV}
ALL = LabelSelector()
NOWHERE = Placement()


def listed(*names: str, selector: LabelSelector | None = None) -> Placement:
    return Placement(clusters=tuple(ClusterReference(name=name) for name in names), cluster_selector=selector)


def by_labels(**labels: str) -> Placement:
    return Placement(cluster_selector=LabelSelector(match_labels=labels))


def by_expression(key: str, operator: str, *values: str) -> Placement:
    requirement = LabelSelectorRequirement(key=key, operator=operator, values=values)
    return Placement(cluster_selector=LabelSelector(match_expressions=(requirement,)))


def placed(placement: Placement, gate: Gate | None = None, clusters: Registered = CLUSTERS) -> str:
    found = place(placement, clusters, gate)
    assert isinstance(found, Placed)
    return " ".join(found.clusters)


def test_vector_1_a_list_places_what_is_registered_of_it() -> None:
    assert placed(listed("c1", "c9")) == "c1"


def test_vector_2_an_empty_list_places_nothing_whatever_the_selector_says() -> None:
    assert placed(listed(selector=ALL)) == ""


def test_vector_3_an_empty_selector_places_everywhere() -> None:
    assert placed(Placement(cluster_selector=ALL)) == "c1 c2 c3"


def test_vector_4_a_cluster_that_is_relabelled_is_selected_no_more() -> None:
    assert placed(by_labels(env="prod")) == "c1 c2"
    assert placed(by_labels(env="prod"), clusters={**CLUSTERS, ClusterId("c2"): DEV}) == "c1"


def test_vector_5_a_namespaced_object_is_placed_within_its_namespace() -> None:
    assert placed(by_expression("env", "In", "prod", "dev"), Gate(listed("c2", "c3"))) == "c2 c3"


def test_vector_6_without_any_placement_there_is_no_error_and_no_cluster() -> None:
    assert place(NOWHERE, CLUSTERS) == Placed(())


def test_vector_7_without_a_federated_namespace_nothing_is_placed_and_it_is_told() -> None:
    assert place(Placement(cluster_selector=ALL), CLUSTERS, Gate()) == Placed((), "NamespaceNotFederated")


def test_vector_8_placements_that_do_not_meet_place_nothing() -> None:
    assert place(listed("c1"), CLUSTERS, Gate(listed("c2"))) == Placed(())


def test_a_control_plane_of_one_namespace_needs_no_federated_namespace() -> None:
    assert placed(listed("c1", "c3"), Gate(is_required=False)) == "c1 c3"
    assert placed(listed("c1", "c3"), Gate(listed("c3"), is_required=False)) == "c3"


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (("env", "NotIn", "prod"), "c3"),
        (("zone", "NotIn", "a"), "c1 c2 c3"),
        (("env", "Exists"), "c1 c2 c3"),
        (("zone", "Exists"), ""),
        (("zone", "DoesNotExist"), "c1 c2 c3"),
    ],
)
def test_expressions_select_as_those_of_kubernetes(expression: tuple[str, ...], expected: str) -> None:
    assert placed(by_expression(*expression)) == expected


def test_all_requirements_of_a_selector_must_be_met() -> None:
    both = LabelSelector(
        match_labels=PROD, match_expressions=(LabelSelectorRequirement(key="zone", operator="Exists"),)
    )
    assert placed(Placement(cluster_selector=both)) == ""


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        (
            ("env", "Is", "prod"),
            'clusterSelector: operator "Is" of "env" is not known; use In, NotIn, Exists, DoesNotExist',
        ),
        (("env", "In"), 'clusterSelector: In of "env" needs values'),
        (("env", "Exists", "prod"), 'clusterSelector: Exists of "env" takes no values'),
    ],
)
def test_a_selector_that_is_none_does_not_mean_no_cluster(expression: tuple[str, ...], message: str) -> None:
    broken = by_expression(*expression)
    failed = NotPlaced(message, "ComputePlacementFailed")
    assert place(broken, CLUSTERS) == failed
    assert place(listed("c1"), CLUSTERS, Gate(broken)) == failed


@pytest.mark.parametrize(
    ("placement", "gate", "expected"),
    [
        (listed("c1"), None, ""),
        (NOWHERE, None, "NoPlacement"),
        (listed("c2", selector=ALL), None, "NotListed"),
        (by_labels(env="dev"), None, "NotSelected"),
        (listed("c1"), Gate(), "NamespaceNotFederated"),
        (listed("c2"), Gate(), "NotListed"),
        (listed("c1"), Gate(listed("c2")), "NamespaceNotPlaced"),
        (by_expression("env", "Is"), None, "PlacementFailed"),
    ],
)
def test_the_rule_that_keeps_an_object_out_of_a_cluster(
    placement: Placement, gate: Gate | None, expected: Exclusion
) -> None:
    assert exclusion(placement, ClusterId("c1"), PROD, gate) == expected


@pytest.mark.parametrize(
    ("name", "is_protected"),
    [
        ("kube-system", True),
        ("kube-public", True),
        ("kube-node-lease", True),
        ("default", True),
        ("fed", True),
        ("kube-federation-system", False),
        ("shop", False),
    ],
)
def test_namespaces_that_are_never_touched_in_members(name: str, is_protected: bool) -> None:
    assert is_protected_namespace(name, "fed") is is_protected


def test_a_federated_namespace_is_named_as_the_namespace_that_it_is_in() -> None:
    assert namespace_problem(FederatedObject(metadata=ObjectMeta(namespace="shop", name="shop"))) is None
    assert namespace_problem(FederatedObject(metadata=ObjectMeta(namespace="shop", name="other"))) == (
        'A FederatedNamespace must have the name of the namespace that it is in: name it "shop", or move it to '
        'namespace "other".'
    )
