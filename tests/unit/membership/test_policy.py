"""Policy files: what they state, and what is said of those that cannot be used."""

from ipaddress import ip_network
from typing import Any

import pytest
import yaml

from mcs.membership.policy import PolicyError, parse_policy
from mcs.model.names import ClusterId
from mcs.model.policy import DEFAULT_POLICY, Caps, MemberPolicy

WHOLE = """
systemNamespace: mcs
deniedNamespaces: [vault]
precedence: first-seen
defaults:
  exportsFrom: [shop, demo]
  importsInto: [demo]
  caps: {exports: 5}
members:
  c2:
    exportsFrom: [shop]
    importsInto: []
    caps: {endpoints: 7, endpointsPerService: 3, objectBytes: 1000}
    podRanges: [10.2.0.0/16, "fd00:2::/64"]
    serviceRanges: [10.96.0.0/12]
  c3: {}
"""


def test_a_file_states_what_each_member_may_do() -> None:
    policy = parse_policy(yaml.safe_load(WHOLE))

    denied = frozenset({"kube-system", "kube-public", "kube-node-lease", "mcs", "vault"})
    assert policy.precedence == "first-seen"
    assert policy.of(ClusterId("c2")) == MemberPolicy(
        denied=denied,
        exports_from=frozenset({"shop"}),
        imports_into=frozenset(),
        caps=Caps(exports=5, endpoints=7, endpoints_per_service=3, object_bytes=1000),
        pod_ranges=(ip_network("10.2.0.0/16"), ip_network("fd00:2::/64")),
        service_ranges=(ip_network("10.96.0.0/12"),),
    )
    rest = MemberPolicy(
        denied=denied,
        exports_from=frozenset({"shop", "demo"}),
        imports_into=frozenset({"demo"}),
        caps=Caps(exports=5),
    )
    assert policy.of(ClusterId("c3")) == policy.of(ClusterId("c9")) == rest


@pytest.mark.parametrize("document", [None, {}, {"members": None, "defaults": None}])
def test_a_file_that_states_nothing_is_the_default(document: Any) -> None:
    assert parse_policy(document) == DEFAULT_POLICY


@pytest.mark.parametrize(
    ("case", "text", "told"),
    [
        ("no mapping at all", "[]", "the policy: [] is not valid"),
        ("a key that is not known", "member: {}", "member: unknown key; known here are systemNamespace"),
        (
            "one deep inside",
            "members: {c2: {cap: {}}}",
            "members.c2.cap: unknown key; known here are exportsFrom",
        ),
        ("a precedence that there is not", "precedence: newest", "write oldest or first-seen"),
        (
            "a cap that is text",
            "defaults: {caps: {exports: many}}",
            "defaults.caps.exports: 'many' is not valid",
        ),
        ("a cap below nothing", "members: {c2: {caps: {endpoints: -1}}}", "members.c2.caps.endpoints: -1"),
        ("a truth as a number", "defaults: {caps: {exports: true}}", "write a whole number"),
        (
            "a name in place of a list",
            "defaults: {exportsFrom: shop}",
            "defaults.exportsFrom: 'shop' is not valid",
        ),
        (
            "a pattern in place of a name",
            "defaults: {exportsFrom: ['shop-*']}",
            "defaults.exportsFrom.0: 'shop-*'",
        ),
        ("an address with host bits", "members: {c2: {podRanges: [10.2.0.1/16]}}", "members.c2.podRanges.0"),
        ("no address", "defaults: {serviceRanges: [5]}", "write a network such as"),
        ("members as a list", "members: [c2]", "write a mapping from cluster ids"),
        ("a number as cluster id", "members: {2: {}}", "cluster ids in quotes"),
        ("an id that none can have", "members: {C2: {}}", "members: cluster id 'C2' is not valid"),
        ("a system namespace that is none", "systemNamespace: [a]", "write the name of a namespace"),
    ],
)
def test_what_cannot_be_used_is_told_with_its_place_and_what_to_write(
    case: str, text: str, told: str
) -> None:
    with pytest.raises(PolicyError) as raised:
        parse_policy(yaml.safe_load(text))
    assert told in str(raised.value), case


def test_a_giant_value_is_not_shown_whole() -> None:
    with pytest.raises(PolicyError) as raised:
        parse_policy({"precedence": "x" * 10_000})
    assert len(str(raised.value)) < 300
