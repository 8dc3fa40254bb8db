"""What a KubeFedConfig sets here, KubeFed's defaults, and what is said of one that is wrong."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import msgspec
import pytest

from mcs.federation.configuration import Settings, parse_go_duration, settings_of
from mcs.model.federated import KubeFedConfig

SYSTEM = "kube-federation-system"


def config(spec: dict[str, Any], name: str = "kubefed") -> KubeFedConfig:
    return msgspec.convert({"metadata": {"name": name}, "spec": spec}, KubeFedConfig)


def gate(name: str, configuration: str = "Disabled") -> dict[str, Any]:
    return {"featureGates": [{"name": name, "configuration": configuration}]}


SECONDS = timedelta(seconds=1)


@pytest.mark.parametrize(
    ("spec", "changed"),
    [
        pytest.param({}, {}, id="nothing set: KubeFed's defaults"),
        pytest.param({"scope": "Namespaced"}, {"scope": "Namespaced"}, id="one namespace only"),
        pytest.param(
            {"syncController": {"adoptResources": "Disabled"}},
            {"adopts": False},
            id="what members have is not taken over",
        ),
        pytest.param(
            {"controllerDuration": {"availableDelay": "1m30s", "unavailableDelay": "2h"}},
            {"available_delay": 90 * SECONDS, "unavailable_delay": 7200 * SECONDS},
            id="how patient it is with members",
        ),
        pytest.param(gate("PushReconciler"), {"propagates": False}, id="nothing is propagated"),
        pytest.param(gate("PushReconciler", "Enabled"), {}, id="a gate that is on says nothing new"),
        pytest.param(gate("SchedulerPreferences"), {"divides": False}, id="no preference is heeded"),
        pytest.param(gate("RawResourceStatusCollection", "Enabled"), {}, id="a gate without an effect"),
        pytest.param(
            {"clusterHealthCheck": {"period": "5s"}, "leaderElect": {"leaseDuration": "30s"}},
            {},
            id="settings without an effect are taken all the same",
        ),
    ],
)
def test_what_a_configuration_sets(spec: dict[str, Any], changed: dict[str, Any]) -> None:
    wanted = msgspec.structs.replace(Settings(system_namespace=SYSTEM), **changed)
    assert settings_of(config(spec), SYSTEM) == wanted


def test_without_a_configuration_the_defaults_of_kubefed_hold() -> None:
    settings = settings_of(None, "federation")
    assert settings == Settings(system_namespace="federation")
    assert (settings.available_delay, settings.unavailable_delay) == (20 * SECONDS, 60 * SECONDS)


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        (
            {"controllerDuration": {"availableDelay": "soon"}},
            'controllerDuration.availableDelay: "soon" is no',
        ),
        (
            {"controllerDuration": {"unavailableDelay": "0s"}},
            "controllerDuration.unavailableDelay must be longer",
        ),
        ({"controllerDuration": {"cacheSyncTimeout": "-1m"}}, 'controllerDuration.cacheSyncTimeout: "-1m"'),
        ({"clusterHealthCheck": {"timeout": "3"}}, 'clusterHealthCheck.timeout: "3" is no duration'),
        (
            {"clusterHealthCheck": {"failureThreshold": 0}},
            "clusterHealthCheck.failureThreshold must be at least 1",
        ),
        (
            {"syncController": {"maxConcurrentReconciles": 0}},
            "syncController.maxConcurrentReconciles must be",
        ),
        (
            {"leaderElect": {"leaseDuration": "10s"}},
            "leaderElect.leaseDuration must be longer than renewDeadline",
        ),
        (
            {"leaderElect": {"renewDeadline": "6s", "retryPeriod": "5s"}},
            "leaderElect.renewDeadline must be longer than 1.2 times retryPeriod",
        ),
        (gate("Magic"), 'featureGates: "Magic" is not known; there are PushReconciler, SchedulerPreferences'),
        (
            {"featureGates": 2 * gate("PushReconciler")["featureGates"]},
            'featureGates: "PushReconciler" is given more than once',
        ),
    ],
)
def test_a_mistake_is_named_by_its_field(spec: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValueError, match=f"^{problem.replace('(', '.')}"):
        settings_of(config(spec), SYSTEM)


def test_all_mistakes_are_told_at_once() -> None:
    with pytest.raises(ValueError, match=r'must have the name "kubefed"; .*availableDelay.*; featureGates'):
        settings_of(config({"controllerDuration": {"availableDelay": ""}} | gate("Magic"), "other"), SYSTEM)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("20s", 20),
        ("1m30s", 90),
        ("1.5h", 5400),
        (".5s", 0.5),
        ("250ms", 0.25),
        ("0", 0),
        ("0s", 0),
        ("999999999h", timedelta(days=3650).total_seconds()),
        ("", None),
        ("20", None),
        ("s", None),
        ("-1s", None),
        ("1d", None),
        ("1s ", None),
        ("1m 30s", None),
        ("1s\n", None),
    ],
)
def test_durations_are_written_as_go_does(text: str, seconds: float | None) -> None:
    found = parse_go_duration(text)
    assert (found.total_seconds() if found is not None else None) == seconds
