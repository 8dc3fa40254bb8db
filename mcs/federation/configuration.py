"""What the KubeFedConfig of a host sets, as far as it has an effect here, and what is wrong with one.

Source: the defaults and the validation of KubeFed 0.10, which asked a webhook; here what is wrong is told, and the
settings before stay in force. What has no effect: cacheSyncTimeout and maxConcurrentReconciles, since nobody waits for
a slow member and many objects are worked on at once; leaderElect, which are options of the command line; the period
and the thresholds of clusterHealthCheck, since members are probed for Services, too, by KubeFed's defaults; and the
gate RawResourceStatusCollection, since status has what is known of each cluster without it.
"""

import re
from collections.abc import Iterator
from datetime import timedelta

from msgspec import Struct

from mcs.model.actions import RecordEvent
from mcs.model.events import new_event
from mcs.model.federated import (
    CONFIG_NAME,
    KUBEFED_CONFIGS,
    FeatureGate,
    KubeFedConfig,
    KubeFedConfigSpec,
    Scope,
)
from mcs.model.names import ClusterId
from mcs.model.registration import DEFAULT_SYSTEM_NAMESPACE

PUSH_RECONCILER = "PushReconciler"
SCHEDULER_PREFERENCES = "SchedulerPreferences"
RAW_STATUS = "RawResourceStatusCollection"
FEATURE_GATES = (PUSH_RECONCILER, SCHEDULER_PREFERENCES, RAW_STATUS)

_JITTER = 1.2
"""By how much longer than the retry period KubeFed wants the renew deadline to be."""
_PART = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(h|ms|m|s|us|µs|μs|ns)")
_SECONDS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ns": 1e-9}
_LONGEST = timedelta(days=3650)


class Settings(Struct, frozen=True, kw_only=True):
    """The settings in force. With the scope Namespaced only the system namespace is worked in.

    `propagates` and `divides` tell whether types are propagated and preferences heeded at all, `adopts` whether what
    members have already is taken over. `unavailable_delay` is how long a member is away before its replicas move,
    `available_delay` how long it is back before it counts again.
    """

    system_namespace: str = DEFAULT_SYSTEM_NAMESPACE
    scope: Scope = "Cluster"
    propagates: bool = True
    divides: bool = True
    adopts: bool = True
    available_delay: timedelta = timedelta(seconds=20)
    unavailable_delay: timedelta = timedelta(seconds=60)


def parse_go_duration(text: str) -> timedelta | None:
    """The duration of a text as Go writes it ("1m30s", "1.5h", "0"), at most ten years; None when it is none."""
    if text == "0":
        return timedelta()
    parts = _PART.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        return None
    seconds = sum(float(number) * _SECONDS[unit] for number, unit in parts)
    return timedelta(seconds=min(seconds, _LONGEST.total_seconds()))


def settings_of(config: KubeFedConfig | None, system_namespace: str) -> Settings:
    """What the configuration sets; KubeFed's defaults without one. Raises ValueError, which names every mistake."""
    if config is None:
        return Settings(system_namespace=system_namespace)
    if mistakes := tuple(_mistakes(config)):
        raise ValueError("; ".join(mistakes))
    spec = config.spec
    return Settings(
        system_namespace=system_namespace,
        scope=spec.scope,
        propagates=_is_on(spec.feature_gates, PUSH_RECONCILER),
        divides=_is_on(spec.feature_gates, SCHEDULER_PREFERENCES),
        adopts=spec.sync_controller.adopt_resources == "Enabled",
        available_delay=_duration(spec.controller_duration.available_delay),
        unavailable_delay=_duration(spec.controller_duration.unavailable_delay),
    )


def _is_on(gates: tuple[FeatureGate, ...], name: str) -> bool:
    return all(each.configuration == "Enabled" for each in gates if each.name == name)


def _duration(text: str) -> timedelta:
    found = parse_go_duration(text)
    assert found is not None
    return found


def _mistakes(config: KubeFedConfig) -> Iterator[str]:
    if config.metadata.name != CONFIG_NAME:
        yield f'the KubeFedConfig must have the name "{CONFIG_NAME}"'
    spec = config.spec
    yield from _duration_mistakes(spec)
    yield from _election_mistakes(spec)
    names = [each.name for each in spec.feature_gates]
    for name in sorted(set(names)):
        if name not in FEATURE_GATES:
            yield f'featureGates: "{name}" is not known; there are {", ".join(FEATURE_GATES)}'
        if names.count(name) > 1:
            yield f'featureGates: "{name}" is given more than once'
    counts = {
        "clusterHealthCheck.failureThreshold": spec.cluster_health_check.failure_threshold,
        "clusterHealthCheck.successThreshold": spec.cluster_health_check.success_threshold,
        "syncController.maxConcurrentReconciles": spec.sync_controller.max_concurrent_reconciles,
        "statusController.maxConcurrentReconciles": spec.status_controller.max_concurrent_reconciles,
    }
    yield from (f"{field} must be at least 1, not {count}" for field, count in counts.items() if count < 1)


def _durations(spec: KubeFedConfigSpec) -> dict[str, str]:
    return {
        "controllerDuration.availableDelay": spec.controller_duration.available_delay,
        "controllerDuration.unavailableDelay": spec.controller_duration.unavailable_delay,
        "controllerDuration.cacheSyncTimeout": spec.controller_duration.cache_sync_timeout,
        "leaderElect.leaseDuration": spec.leader_elect.lease_duration,
        "leaderElect.renewDeadline": spec.leader_elect.renew_deadline,
        "leaderElect.retryPeriod": spec.leader_elect.retry_period,
        "clusterHealthCheck.period": spec.cluster_health_check.period,
        "clusterHealthCheck.timeout": spec.cluster_health_check.timeout,
    }


def _duration_mistakes(spec: KubeFedConfigSpec) -> Iterator[str]:
    for field, text in _durations(spec).items():
        found = parse_go_duration(text)
        if found is None:
            yield f'{field}: "{text}" is no duration; write for example 20s or 1m30s'
        elif not found:
            yield f"{field} must be longer than 0"


def _election_mistakes(spec: KubeFedConfigSpec) -> Iterator[str]:
    elect = spec.leader_elect
    lease, renew, retry = (
        parse_go_duration(text) for text in (elect.lease_duration, elect.renew_deadline, elect.retry_period)
    )
    if lease is not None and renew is not None and lease <= renew:
        yield "leaderElect.leaseDuration must be longer than renewDeadline"
    if renew is not None and retry is not None and renew <= retry * _JITTER:
        yield f"leaderElect.renewDeadline must be longer than {_JITTER} times retryPeriod"


def configuration_event(config: KubeFedConfig, problem: str, host: ClusterId, now: str) -> RecordEvent:
    """What tells that a configuration is wrong, and that other settings are in force therefore."""
    metadata = config.metadata
    about = KUBEFED_CONFIGS.reference(metadata)
    message = f"The settings before stay in force: {problem}"
    event = new_event(about, "Warning", "InvalidConfiguration", message, now, namespace=metadata.namespace)
    return RecordEvent(cluster=host, about=KUBEFED_CONFIGS, object=event)
