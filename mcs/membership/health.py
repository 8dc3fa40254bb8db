"""How a member is doing, judged from its probes, and what its registration says of that.

A state is left when so many probes in a row say the contrary, and for nothing less (KubeFed counts the probes since
the last change instead, by which one failed probe marks a cluster that has long been well). Probing is left to others.
"""

from collections.abc import Iterable

from msgspec import Struct

from mcs.model.names import ClusterId
from mcs.model.registration import (
    CONFIG_MALFORMED,
    OFFLINE,
    READY,
    ClusterCondition,
    KubeFedCluster,
    KubeFedClusterStatus,
)

CLUSTER_READY = "ClusterReady"
CLUSTER_NOT_READY = "ClusterNotReady"
CLUSTER_REACHABLE = "ClusterReachable"
CLUSTER_NOT_REACHABLE = "ClusterNotReachable"
CONFIGURATION_MALFORMED = "ClusterConfigMalformed"

REFUSED = "Refused"
"""Type of the condition of a registration that is not worked with as it stands; KubeFed has no such condition."""


class Thresholds(Struct, frozen=True):
    """How many probes in a row it takes to become ready, and to be so no longer. Defaults of KubeFed."""

    success: int = 1
    failure: int = 3


class Answered(Struct, frozen=True):
    """/healthz answered. `is_ok` when it said that all is well; `version` is that of the API server, if it told it."""

    is_ok: bool
    version: str = ""
    zones: tuple[str, ...] = ()
    region: str = ""


class Failed(Struct, frozen=True):
    """There was no usable answer; `why` is a sentence that does not change from probe to probe."""

    why: str


class NotConfigured(Struct, frozen=True):
    """The registration cannot be turned into a connection; `why` says what to do."""

    why: str


Probe = Answered | Failed | NotConfigured


class Judged(Struct, frozen=True):
    """The probe that a member is judged by, and how many contrary ones there have been in a row since."""

    probe: Probe
    contrary: int = 0

    @property
    def is_ready(self) -> bool:
        """True when the member can be worked with."""
        return is_ready(self.probe)


class Health(Struct, frozen=True):
    """How a member is doing, and since when by the clock of who recorded it (RFC 3339); empty when it is not known."""

    cluster: ClusterId
    is_ready: bool
    since: str = ""
    reason: str = ""
    is_offline: bool = False

    @property
    def unreachable_since(self) -> str:
        """Since when it is recorded as Offline; empty when it is not."""
        return self.since if self.is_offline else ""


def is_ready(probe: Probe) -> bool:
    """True when the probe says that all is well."""
    return isinstance(probe, Answered) and probe.is_ok


def next_judged(before: Judged | None, probe: Probe, thresholds: Thresholds) -> Judged:
    """What a member is judged by after one more probe; the first one counts at once."""
    if before is None or before.is_ready == is_ready(probe):
        return Judged(probe)
    contrary = before.contrary + 1
    needed = thresholds.success if is_ready(probe) else thresholds.failure
    return Judged(probe) if contrary >= needed else Judged(before.probe, contrary)


def remembered(status: KubeFedClusterStatus) -> Judged | None:
    """What a member was judged by according to its registration; None when that says nothing of it."""
    conditions = {each.type: each for each in status.conditions}
    ready, offline = conditions.get(READY), conditions.get(OFFLINE)
    if ready is not None and ready.status == "True":
        return Judged(Answered(True, status.kubernetes_version or "", status.zones, status.region or ""))
    if offline is not None and offline.status == "True":
        return Judged(Failed((offline.message or "").removeprefix(_NOT_REACHABLE)))
    if ready is not None:
        return Judged(Answered(False, status.kubernetes_version or "", status.zones, status.region or ""))
    return None


_NOT_REACHABLE = "cluster is not reachable: "


def _said_of(probe: Probe) -> tuple[tuple[str, bool, str, str], ...]:
    """Type, status, reason and message of each condition, in KubeFed's words."""
    match probe:
        case Answered(is_ok=True):
            return ((READY, True, CLUSTER_READY, "/healthz responded with ok"),)
        case Answered():
            return (
                (READY, False, CLUSTER_NOT_READY, "/healthz responded without ok"),
                (OFFLINE, False, CLUSTER_REACHABLE, "cluster is reachable"),
            )
        case Failed(why=why):
            return ((OFFLINE, True, CLUSTER_NOT_REACHABLE, f"{_NOT_REACHABLE}{why}"),)
        case NotConfigured():
            return (
                (
                    CONFIG_MALFORMED,
                    True,
                    CONFIGURATION_MALFORMED,
                    "cluster's configuration may be malformed",
                ),
            )


def desired_status(
    registration: KubeFedCluster,
    probe: Probe | None,
    now: str,
    refusal: tuple[str, str] | None = None,
    told: Iterable[tuple[str, bool, str, str]] = (),
) -> KubeFedClusterStatus:
    """What the registration is to say; equal to what it says while nothing has changed, whatever the time is.

    `refusal` are reason and message of a registration that is not worked with as it stands, `told` further conditions.
    Version, zones and region that are not told stay as they were last known; those of the spec go first.
    """
    said = list(_said_of(probe)) if probe is not None else []
    if refusal is not None:
        said.append((REFUSED, True, *refusal))
    said += told
    present, spec = registration.status, registration.spec
    answered = probe if isinstance(probe, Answered) else Answered(False)
    desired = KubeFedClusterStatus(
        conditions=tuple(
            _condition(registration, type_, holds, reason, message, now)
            for type_, holds, reason, message in said
        ),
        kubernetes_version=answered.version or present.kubernetes_version,
        zones=spec.zones or answered.zones or present.zones,
        region=spec.region or answered.region or present.region,
    )
    return present if _meaning(desired) == _meaning(present) else desired


def _condition(
    registration: KubeFedCluster, type_: str, holds: bool, reason: str, message: str, now: str
) -> ClusterCondition:
    status = "True" if holds else "False"
    before = registration.condition(type_)
    transition = before.last_transition_time if before is not None and before.status == status else None
    return ClusterCondition(
        type=type_,
        status="True" if holds else "False",
        last_probe_time=now,
        last_transition_time=transition or now,
        reason=reason,
        message=message,
    )


def _meaning(status: KubeFedClusterStatus) -> tuple[object, ...]:
    conditions = sorted(
        (each.type, each.status, each.reason or "", each.message or "") for each in status.conditions
    )
    return conditions, status.kubernetes_version or "", status.zones, status.region or ""


def health_of(cluster: ClusterId, status: KubeFedClusterStatus) -> Health:
    """How a member is doing by what its registration says: ready only when a condition says so."""
    conditions = {each.type: each for each in status.conditions}
    offline = conditions.get(OFFLINE)
    if offline is not None and offline.status == "True":
        since = offline.last_transition_time or offline.last_probe_time
        return Health(cluster, False, since, offline.message or "", is_offline=True)
    if (ready := conditions.get(READY)) is not None:
        since = ready.last_transition_time or ready.last_probe_time
        is_well = ready.status == "True"
        return Health(cluster, is_well, since, "" if is_well else ready.message or "")
    other = next(iter(status.conditions), None)
    if other is None:
        return Health(cluster, False)
    return Health(cluster, False, other.last_transition_time or other.last_probe_time, other.message or "")


def zones_and_region(labels: list[dict[str, str]]) -> tuple[tuple[str, ...], str]:
    """The zones of the nodes with these labels, sorted, and their region if they agree on one; else empty."""
    zones = {_label(each, "zone") for each in labels} - {""}
    regions = {_label(each, "region") for each in labels} - {""}
    return tuple(sorted(zones)), next(iter(regions)) if len(regions) == 1 else ""


def _label(labels: dict[str, str], kind: str) -> str:
    """The label that Kubernetes has for it, or its predecessor."""
    return labels.get(f"topology.kubernetes.io/{kind}") or labels.get(
        f"failure-domain.beta.kubernetes.io/{kind}", ""
    )
