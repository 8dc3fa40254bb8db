"""Where a member may export and import."""

import pytest

from mcs.model.names import ClusterId
from mcs.model.policy import DEFAULT_POLICY, MemberPolicy, Policy

LIMITED = MemberPolicy(exports_from=frozenset({"shop", "kube-system"}), imports_into=frozenset({"demo"}))


@pytest.mark.parametrize(
    ("case", "policy", "namespace", "may_export", "may_import"),
    [
        ("any namespace, unless it is said otherwise", MemberPolicy(), "shop", True, True),
        ("F1: not those of the system", MemberPolicy(), "kube-system", False, False),
        ("F1: nor those all may read", MemberPolicy(), "kube-public", False, False),
        ("F1: nor those of node leases", MemberPolicy(), "kube-node-lease", False, False),
        ("F1: nor the controller's own", MemberPolicy(), "kube-federation-system", False, False),
        ("a namespace of one list is not one of the other", LIMITED, "shop", True, False),
        ("nor the other way round", LIMITED, "demo", False, True),
        ("one of neither list takes no part", LIMITED, "other", False, False),
        ("no list lets a denied namespace in", LIMITED, "kube-system", False, False),
    ],
)
def test_where_a_member_may_export_and_import(
    case: str, policy: MemberPolicy, namespace: str, may_export: bool, may_import: bool
) -> None:
    assert policy.may_export_from(namespace) is may_export, case
    assert policy.may_import_into(namespace) is may_import, case


def test_a_member_that_is_not_named_is_held_to_the_default() -> None:
    policy = Policy(members={ClusterId("c2"): LIMITED})
    assert policy.of(ClusterId("c2")) == LIMITED
    assert policy.of(ClusterId("c1")) == DEFAULT_POLICY.default
