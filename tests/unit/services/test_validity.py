"""Which exports count, and what the others are told."""

from dataclasses import replace

import pytest

from mcs.model.names import MANAGED_BY, MANAGED_BY_LABEL, SERVICE_NAME_LABEL, ClusterId, ServiceKey
from mcs.model.policy import Caps, MemberPolicy
from mcs.model.services import Service
from mcs.services.observed import Cap, Exporter
from mcs.services.validity import Validity, valid_exporters, validity, validity_message
from mcs.testing.builders import WEB, export, exporter, headless, service

OTHER = ServiceKey("demo", "api")
SYSTEM = ServiceKey("kube-system", "web")
DERIVED_LABELS = {MANAGED_BY_LABEL: MANAGED_BY, SERVICE_NAME_LABEL: "api"}


@pytest.mark.parametrize(
    ("case", "exported", "verdict"),
    [
        ("a ClusterIP Service can be exported", service(), "Valid"),
        ("so can a headless one", headless(), "Valid"),
        ("A3: so can a NodePort one", service(kind="NodePort"), "Valid"),
        ("A3: so can a LoadBalancer one", service(kind="LoadBalancer"), "Valid"),
        ("a Service whose type was left out is a ClusterIP one", service(kind=""), "Valid"),
        ("A1: an export without Service waits for it", None, "NoService"),
        ("a Service that is going is as good as gone", service(terminating=True), "NoService"),
        ("a Service filed under another name is none", service(OTHER), "NoService"),
        (
            "A2: an ExternalName Service cannot be exported",
            service(kind="ExternalName"),
            "InvalidServiceType",
        ),
        ("nor can a type that is not known", service(kind="Mesh"), "InvalidServiceType"),
        ("nor can a derived Service", service(labels=DERIVED_LABELS), "ImportedService"),
        ("a Service managed by somebody else can", service(labels={MANAGED_BY_LABEL: "helm"}), "Valid"),
        ("so can one that only says it is an import", service(labels={SERVICE_NAME_LABEL: "api"}), "Valid"),
    ],
)
def test_validity(case: str, exported: Service | None, verdict: Validity) -> None:
    subject = exporter("c1", exported, export_=export())
    assert validity(WEB, subject) == verdict, case
    assert validity_message(WEB, subject, verdict)


def test_a_system_namespace_is_denied_and_the_message_names_it() -> None:
    subject = exporter("c1", service(SYSTEM))
    assert validity(SYSTEM, subject) == "NamespaceDenied"
    assert '"kube-system"' in validity_message(SYSTEM, subject, "NamespaceDenied")


LIMITED = MemberPolicy(exports_from=frozenset({"shop"}), caps=Caps(exports=3, endpoints=7))


@pytest.mark.parametrize(
    ("case", "key", "policy", "beyond", "verdict", "told"),
    [
        ("F1: a namespace that the policy does not list", WEB, LIMITED, None, "NamespaceDenied", '"demo"'),
        ("one that it lists", ServiceKey("shop", "web"), LIMITED, None, "Valid", ""),
        (
            "F4: no room for so many exports",
            WEB,
            MemberPolicy(),
            "exports",
            "TooManyExports",
            "10000 services",
        ),
        ("F4: nor endpoints", WEB, MemberPolicy(), "endpoints", "TooManyEndpoints", "100000 endpoints"),
        (
            "a name with a dot",
            ServiceKey("demo", "web.shop"),
            MemberPolicy(),
            None,
            "InvalidName",
            "DNS label",
        ),
        ("one in upper case", ServiceKey("demo", "Web"), MemberPolicy(), None, "InvalidName", "DNS label"),
        ("a giant one", ServiceKey("demo", "w" * 64), MemberPolicy(), None, "InvalidName", "DNS label"),
        ("none at all", ServiceKey("demo", ""), MemberPolicy(), None, "InvalidName", "DNS label"),
        (
            "a namespace that is none",
            ServiceKey("De/mo", "web"),
            MemberPolicy(),
            None,
            "InvalidName",
            "RFC 1123",
        ),
    ],
)
def test_what_policy_and_caps_let_through(
    case: str, key: ServiceKey, policy: MemberPolicy, beyond: Cap | None, verdict: Validity, told: str
) -> None:
    subject = replace(exporter("c2", service(key), export_=export(key)), policy=policy, beyond=beyond)
    assert validity(key, subject) == verdict, case
    assert told in validity_message(key, subject, verdict)
    assert bool(valid_exporters(key, frozenset({ClusterId("c2")}), (subject,))) is (verdict == "Valid")


def test_the_message_of_a_wrong_type_names_the_type_and_the_right_ones() -> None:
    message = validity_message(WEB, exporter("c1", service(kind="ExternalName")), "InvalidServiceType")
    assert '"ExternalName"' in message
    assert "LoadBalancer" in message


@pytest.mark.parametrize(
    ("case", "subject", "counts"),
    [
        ("a valid export in a seen cluster counts", exporter("c1", service()), True),
        ("one in a cluster that is not seen does not", exporter("c9", service()), False),
        ("one that is going does not", exporter("c1", service(), export_=export(terminating=True)), False),
        (
            "F1: one that is filed under another name does not",
            exporter("c1", service(), export_=export(OTHER)),
            False,
        ),
        ("one without a Service does not", exporter("c1", None), False),
    ],
)
def test_which_exporters_count(case: str, subject: Exporter, counts: bool) -> None:
    seen = frozenset({ClusterId("c1"), ClusterId("c2")})
    assert bool(valid_exporters(WEB, seen, (subject,))) is counts, case
