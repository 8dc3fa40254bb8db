"""Which kind a word on the command line means."""

from __future__ import annotations

import pytest

from mcs.model.discovery import KindError, ServedKind, kind_named


def kind(name: str, kind: str, *short: str, version: str = "v1") -> ServedKind:
    plural, _, group = name.partition(".")
    return ServedKind(
        group=group,
        version=version,
        kind=kind,
        plural=plural,
        singular=kind.lower(),
        short_names=short,
        namespaced=True,
    )


SERVED = (
    kind("services", "Service", "svc"),
    kind("deployments.apps", "Deployment", "deploy"),
    kind("services.serving.knative.dev", "Service", "kservice"),
    kind("gateways.gateway.networking.k8s.io", "Gateway", "gtw"),
    kind("gateways.gateway.networking.k8s.io", "Gateway", "gtw", version="v1beta1"),
    kind("gateways.networking.istio.io", "Gateway", "gw"),
)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("deployments.apps", "deployments.apps"),
        ("deployments", "deployments.apps"),
        ("deployment", "deployments.apps"),
        ("Deployment", "deployments.apps"),
        ("Deployment.apps", "deployments.apps"),
        ("deploy", "deployments.apps"),
        ("service", "services"),
        ("services.serving.knative.dev", "services.serving.knative.dev"),
        ("gw", "gateways.networking.istio.io"),
        ("gtw", "gateways.gateway.networking.k8s.io"),
    ],
)
def test_a_kind_is_found_by_each_of_its_names(text: str, name: str) -> None:
    assert kind_named(text, SERVED).name == name


def test_a_kind_is_that_of_the_preferred_version_unless_another_is_asked_for() -> None:
    name = "gateways.gateway.networking.k8s.io"
    assert kind_named(name, SERVED).version == "v1"
    assert kind_named(name, SERVED, "v1beta1").version == "v1beta1"


@pytest.mark.parametrize(
    ("text", "version", "told"),
    [
        (
            "gateways",
            "",
            "any of gateways.gateway.networking.k8s.io, gateways.networking.istio.io; write the one",
        ),
        ("widgets", "", "serves nothing called 'widgets'"),
        ("deployments.extensions", "", "serves nothing called 'deployments.extensions'"),
        ("gtw", "v2", "not served in version 'v2'; there is v1, v1beta1"),
    ],
    ids=[
        "two groups know the word and neither is the core group",
        "nobody knows it",
        "another group does",
        "not in that version",
    ],
)
def test_what_is_not_clear_is_not_guessed(text: str, version: str, told: str) -> None:
    with pytest.raises(KindError, match=told.replace("(", r"\(")):
        kind_named(text, SERVED, version)
