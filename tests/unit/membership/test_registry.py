"""Whom registrations make a member, and that nothing but a recorded leave lets one go."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from mcs.membership.connecting import credentials_of, server_url
from mcs.membership.registry import ObservedRegistry, Registered, RegistryPlan, plan_registry
from mcs.model.meta import ObjectMeta
from mcs.model.names import ClusterId
from mcs.model.registration import KubeFedCluster, KubeFedClusterSpec, Secret, SecretReference

EAST, WEST = ClusterId("east"), ClusterId("west")


def registration(
    name: str = "east",
    *,
    uid: str = "",
    created: str = "2026-01-01T00:00:00Z",
    deleted: bool = False,
    finalizers: tuple[str, ...] = ("mcs-controller/leave",),
    annotations: dict[str, str] | None = None,
    **spec: Any,
) -> KubeFedCluster:
    settings: dict[str, Any] = {
        "api_endpoint": f"{name}.example.com",
        "secret_ref": SecretReference(name=f"{name}-token"),
    } | spec
    return KubeFedCluster(
        metadata=ObjectMeta(
            name=name,
            namespace="kube-federation-system",
            uid=uid or f"uid-{name}",
            creation_timestamp=created,
            deletion_timestamp="2026-01-02T00:00:00Z" if deleted else None,
            finalizers=finalizers,
            annotations=annotations or {},
        ),
        spec=KubeFedClusterSpec(**settings),
    )


def secret(name: str = "east", **data: bytes) -> Secret:
    named = {key.replace("_", "."): value for key, value in data.items()} or {"token": b"t-" + name.encode()}
    return Secret(metadata=ObjectMeta(name=f"{name}-token"), data=named)


def planned(
    *registrations: KubeFedCluster,
    secrets: tuple[Secret, ...] | None = None,
    engaged: tuple[Registered, ...] = (),
    given: set[str] | None = None,
    left: set[str] | None = None,
    sources: set[str] | None = None,
) -> RegistryPlan:
    held = secrets if secrets is not None else (secret("east"), secret("west"))
    return plan_registry(
        ObservedRegistry(
            registrations=registrations,
            secrets={each.metadata.name: each for each in held},
            engaged={each.cluster: each for each in engaged},
            given=frozenset(map(ClusterId, given or ())),
            left=frozenset(map(ClusterId, left or ())),
            sources=frozenset(map(ClusterId, sources or ())),
        )
    )


def engaged(*registrations: KubeFedCluster) -> tuple[Registered, ...]:
    return planned(*registrations).engage


def test_every_registration_becomes_a_member_and_is_left_alone_afterwards() -> None:
    both = registration("west"), registration("east")
    plan = planned(*both)
    assert [(each.cluster, each.endpoint.server, each.credentials.token) for each in plan.engage] == [
        ("east", "https://east.example.com", "t-east"),
        ("west", "https://west.example.com", "t-west"),
    ]
    assert planned(*both, engaged=plan.engage) == RegistryPlan()


def test_the_id_may_have_two_labels_and_the_name_another_one() -> None:
    plan = planned(registration(annotations={"mcs-controller/cluster-id": "one.two"}))
    assert [(each.cluster, each.name) for each in plan.engage] == [("one.two", "east")]


EAST_ALONE = engaged(registration())


@pytest.mark.parametrize("gone", ["vanished", "empty"])
def test_a_registration_that_is_not_there_lets_nobody_go_and_is_told_of(gone: str) -> None:
    others = () if gone == "empty" else (registration("west"),)
    plan = planned(*others, engaged=EAST_ALONE)
    assert (plan.leaving, plan.orphans) == ((), (EAST,))
    # After a restart only what came from it tells of it.
    assert planned(*others, sources={"east"}).orphans == (EAST,)


@pytest.mark.parametrize(
    ("case", "of", "is_leave"),
    [
        ("deleted under our finalizer", registration(deleted=True), True),
        ("deleted under that of somebody else", registration(deleted=True, finalizers=("x/y",)), False),
        ("not deleted", registration(), False),
    ],
)
def test_only_a_deletion_under_our_finalizer_is_a_leave(
    case: str, of: KubeFedCluster, is_leave: bool
) -> None:
    for known in (EAST_ALONE, ()):
        plan = planned(of, engaged=known)
        assert plan.leaving == (((EAST, "east"),) if is_leave else ()), case
        assert plan.orphans == (), case
        assert bool(plan.engage) is (not known and not of.is_terminating), case


def test_a_leave_needs_neither_a_secret_nor_a_valid_configuration() -> None:
    assert planned(registration(deleted=True, api_endpoint="::"), secrets=()).leaving == ((EAST, "east"),)


@pytest.mark.parametrize(
    ("known", "is_orphan"),
    [
        ({"registrations": [registration(api_endpoint="::")]}, False),
        ({"given": {"east"}}, False),
        ({"left": {"east"}}, False),
        ({}, True),
    ],
)
def test_an_orphan_is_known_by_nothing(known: dict[str, Any], is_orphan: bool) -> None:
    registrations = known.pop("registrations", ())
    plan = planned(*registrations, sources={"east"}, **known)
    assert plan.orphans == ((EAST,) if is_orphan else ())


@pytest.mark.parametrize(
    ("case", "change", "secrets", "done"),
    [
        ("another address", {"api_endpoint": "10.0.0.9:6443"}, None, "reconnect"),
        ("another CA", {"ca_bundle": b"-----BEGIN CERTIFICATE-----"}, None, "reconnect"),
        ("a proxy", {"proxy_url": "socks5://10.0.0.1:1080"}, None, "reconnect"),
        ("another name to check", {"tls_server_name": "kubernetes"}, None, "reconnect"),
        ("one check less", {"disabled_tls_validations": ("SubjectName",)}, None, "reconnect"),
        ("another token", {}, (secret("east", token=b"new"),), "renew"),
        ("a token that ends its line", {}, (secret("east", token=b"t-east\n"),), ""),
        ("zones", {"zones": ("a",)}, None, ""),
        ("an annotation of ours", {"annotations": {"mcs-controller/cordoned": "true"}}, None, ""),
    ],
)
def test_what_changes_how_a_member_is_reached(
    case: str, change: dict[str, Any], secrets: tuple[Secret, ...] | None, done: str
) -> None:
    plan = planned(registration(**change), engaged=EAST_ALONE, secrets=secrets)
    assert [each.cluster for each in plan.reconnect] == ([EAST] if done == "reconnect" else []), case
    assert all(each.endpoint.proxy == change.get("proxy_url", "") for each in plan.reconnect), case
    assert [each.cluster for each in plan.renew] == ([EAST] if done == "renew" else []), case
    assert (plan.engage, plan.leaving, plan.refusals) == ((), (), ()), case


BAD: list[tuple[str, dict[str, Any], Any, str]] = [
    ("no Secret", {}, (), "Secret 'east-token' does not exist"),
    ("no reference", {"secret_ref": SecretReference()}, None, "secretRef names no Secret"),
    ("nothing in it", {}, (secret(other=b"x"),), 'has no "token"'),
    ("half a certificate", {}, (secret(tls_crt=b"x"),), 'needs both "tls.crt" and "tls.key"'),
    ("a token of two lines", {}, (secret(token=b"a\nb"),), "is no token"),
    ("an address that is none", {"api_endpoint": "east:port"}, None, "apiEndpoint 'east:port' is not valid"),
    ("no address", {"api_endpoint": ""}, None, "apiEndpoint '' is not valid"),
    ("another scheme", {"api_endpoint": "ftp://east"}, None, "apiEndpoint 'ftp://east' is not valid"),
    ("an unknown check", {"disabled_tls_validations": ("Name",)}, None, "names 'Name'"),
    ("all checks and one", {"disabled_tls_validations": ("*", "SubjectName")}, None, "stands for all"),
    ("another proxy", {"proxy_url": "socks4://10.0.0.1:1"}, None, "proxyURL is not valid"),
    ("a CA that is none", {"ca_bundle": b"abc"}, None, "caBundle holds no PEM certificate"),
    ("no host name", {"tls_server_name": "a b"}, None, "tlsServerName 'a b'"),
]


@pytest.mark.parametrize(("case", "change", "secrets", "problem"), BAD, ids=[each[0] for each in BAD])
def test_one_malformed_registration_is_refused_and_hurts_no_other(
    case: str, change: dict[str, Any], secrets: tuple[Secret, ...] | None, problem: str
) -> None:
    held = (*secrets, secret("west")) if secrets is not None else None
    plan = planned(registration(**change), registration("west"), secrets=held)
    (refusal,) = plan.refusals
    assert (refusal.name, refusal.reason) == ("east", "ConfigurationMalformed")
    assert problem in refusal.problem
    assert [each.cluster for each in plan.engage] == [WEST]
    # One that is a member goes on as before.
    later = planned(registration(**change), registration("west"), secrets=held, engaged=EAST_ALONE)
    assert (later.reconnect, later.renew, later.leaving, later.orphans) == ((), (), (), ())


def duplicate(name: str, **more: Any) -> KubeFedCluster:
    return registration(name, annotations={"mcs-controller/cluster-id": "one"}, **more)


@pytest.mark.parametrize(
    ("case", "first", "second", "winner"),
    [
        (
            "the oldest",
            duplicate("west", created="2026-01-01T00:00:00Z"),
            duplicate("east", created="2026-01-01T00:00:01Z"),
            "west",
        ),
        ("by name, of one age", duplicate("west"), duplicate("east"), "east"),
    ],
)
def test_one_id_is_given_once(case: str, first: KubeFedCluster, second: KubeFedCluster, winner: str) -> None:
    for order in ((first, second), (second, first)):
        plan = planned(*order)
        assert [each.name for each in plan.engage] == [winner], case
        (refusal,) = plan.refusals
        assert refusal.reason == "DuplicateCluster", case
        assert f'"{winner}"' in refusal.problem, case


def test_who_is_a_member_keeps_its_id_also_from_an_older_registration() -> None:
    member, older = duplicate("west"), duplicate("east", created="2025-01-01T00:00:00Z")
    plan = planned(member, older, engaged=engaged(member))
    assert [each.name for each in plan.refusals] == ["east"]
    assert (plan.engage, plan.reconnect, plan.renew) == ((), (), ())


def test_a_registration_made_anew_under_the_same_name_goes_on_with_the_same_member() -> None:
    plan = planned(registration(uid="restored"), engaged=EAST_ALONE)
    assert (plan.engage, plan.reconnect, plan.leaving, plan.refusals, plan.orphans) == ((), (), (), (), ())
    assert [each.uid for each in plan.renew] == ["restored"]


def test_a_cluster_given_on_the_command_line_is_not_registered_too() -> None:
    (refusal,) = planned(registration(), given={"east"}).refusals
    assert refusal.reason == "DuplicateCluster"
    assert "--cluster" in refusal.problem


def test_one_cluster_is_not_a_member_under_two_ids() -> None:
    uid = {"mcs-controller/cluster-uid": "u"}
    both = registration("west", annotations=uid), registration("east", annotations=uid)
    plan = planned(*both, sources={"west"})
    assert plan.orphans == ()
    assert [each.cluster for each in plan.engage] == [EAST]
    assert [(each.name, each.reason) for each in plan.refusals] == [("west", "DuplicateCluster")]


def test_the_id_of_a_member_is_frozen() -> None:
    changed = registration(annotations={"mcs-controller/cluster-id": "other"})
    plan = planned(changed, engaged=EAST_ALONE)
    assert [(each.name, each.reason) for each in plan.refusals] == [("east", "ClusterIdChanged")]
    assert (plan.engage, plan.reconnect, plan.leaving, plan.orphans) == ((), (), (), ())
    assert planned(replace_deleted(changed), engaged=EAST_ALONE).leaving == ((EAST, "east"),)


def replace_deleted(of: KubeFedCluster) -> KubeFedCluster:
    return replace(of, metadata=replace(of.metadata, deletion_timestamp="2026-01-02T00:00:00Z"))


def test_an_id_that_is_none_is_refused() -> None:
    (refusal,) = planned(registration("a.b.c")).refusals
    assert refusal.reason == "ClusterIdNotValid"
    assert "mcs-controller/cluster-id" in refusal.problem


@pytest.mark.parametrize(
    ("endpoint", "url"),
    [
        ("east.example.com", "https://east.example.com"),
        ("east:6443", "https://east:6443"),
        ("10.0.0.1", "https://10.0.0.1"),
        ("fd00::1", "https://[fd00::1]"),
        ("[fd00::1]:6443", "https://[fd00::1]:6443"),
        ("http://10.0.0.1:8080", "http://10.0.0.1:8080"),
        ("https://proxy/k8s/clusters/c-1/", "https://proxy/k8s/clusters/c-1"),
    ],
)
def test_an_api_endpoint_is_a_host_an_address_or_a_url(endpoint: str, url: str) -> None:
    assert server_url(endpoint) == url


@pytest.mark.parametrize(
    "endpoint",
    [
        "https://user:secret@east",
        "https://east?x=1",
        "https://east:0",
        "https://east:99999",
        "a b",
        "https://",
        "a..b",
    ],
)
def test_what_is_no_api_endpoint_is_refused(endpoint: str) -> None:
    with pytest.raises(ValueError, match="apiEndpoint") as raised:
        server_url(endpoint)
    assert "secret" not in str(raised.value)


def test_no_text_of_credentials_shows_them() -> None:
    planted = (
        secret(token=b"planted"),
        secret(tls_crt=b"planted", tls_key=b"planted"),
        secret(kubeconfig=b"planted"),
    )
    for each in planted:
        held = credentials_of(each)
        assert "planted" not in f"{held!r}{held!s}{planned(registration(), secrets=(each,))!r}"
