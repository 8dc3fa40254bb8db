"""Conflicts: in which properties the exports of a service differ, told so that a user can find the culprit.

Every exporter hears of every conflict (KEP-1645, "Constraints and Conflict Resolution"). What wins is `merge`'s part.
"""

from collections.abc import Callable, Iterable, Sequence

from msgspec import Struct

from mcs.model.multicluster import ImportPort
from mcs.model.policy import Precedence
from mcs.model.preference import TRAFFIC_ANNOTATION
from mcs.model.services import SessionAffinityConfig
from mcs.services.merge import Offer, Properties, merge


class Conflict(Struct, frozen=True, order=True):
    """One reason of the condition Conflict, with its line of the message."""

    reason: str
    message: str


class _Property(Struct, frozen=True):
    reason: str
    field: str
    shown: Callable[[Properties], str]
    """The value as the message shows it."""
    compared: Callable[[Properties], object]


def _quoted(text: str) -> str:
    return f'"{text}"'


def _shown_config(config: SessionAffinityConfig | None) -> str:
    seconds = config.client_ip.timeout_seconds if config and config.client_ip else None
    return "none" if seconds is None else _quoted(f"clientIP.timeoutSeconds: {seconds}")


def _shown_keys(values: dict[str, str]) -> str:
    return ", ".join(_quoted(key) for key in sorted(values)) if values else "none"


_DECIDED_BY_THE_FIRST = (
    _Property("TypeConflict", "type", lambda p: _quoted(p.type), lambda p: p.type),
    _Property(
        "SessionAffinityConflict",
        "sessionAffinity",
        lambda p: _quoted(p.session_affinity),
        lambda p: p.session_affinity,
    ),
    _Property(
        "SessionAffinityConfigConflict",
        "sessionAffinityConfig",
        lambda p: _shown_config(p.session_affinity_config),
        lambda p: p.session_affinity_config,
    ),
    _Property(
        "InternalTrafficPolicyConflict",
        "internalTrafficPolicy",
        lambda p: _quoted(p.internal_traffic_policy),
        lambda p: p.internal_traffic_policy,
    ),
    _Property(
        "TrafficDistributionConflict",
        "trafficDistribution",
        lambda p: _quoted(p.traffic_distribution) if p.traffic_distribution else "none",
        lambda p: p.traffic_distribution,
    ),
    _Property(
        "TrafficPreferenceConflict",
        TRAFFIC_ANNOTATION,
        lambda p: _quoted(p.traffic_preference) if p.traffic_preference else "no preference",
        lambda p: p.traffic_preference,
    ),
    _Property("LabelsConflict", "exportedLabels", lambda p: _shown_keys(p.labels), lambda p: p.labels),
    _Property(
        "AnnotationsConflict",
        "exportedAnnotations",
        lambda p: _shown_keys(p.annotations),
        lambda p: p.annotations,
    ),
)


def conflicts(offered: Sequence[Offer], precedence: Precedence = "oldest") -> tuple[Conflict, ...]:
    """All conflicts between the offers (in order of `precedence`, not empty), sorted by reason.

    They depend on the offers alone, so that every exporter hears the same whatever its own cluster can do.
    """
    merged, first = merge(offered), precedence.replace("-", " ")
    found = [
        *_conflicts_with_the_first(offered, first),
        *_port_conflict(offered, merged.ports, first),
        *_family_conflict(offered, merged.ip_families, first),
    ]
    return tuple(sorted(found))


def _conflicts_with_the_first(offered: Sequence[Offer], named: str) -> Iterable[Conflict]:
    first = offered[0]
    for each in _DECIDED_BY_THE_FIRST:
        used = each.compared(first.properties)
        disagreeing = sum(each.compared(offer.properties) != used for offer in offered)
        if disagreeing:
            yield Conflict(
                each.reason,
                f"Conflicting {each.field}. Using {each.shown(first.properties)} from {named} service export in "
                f'"{first.cluster}". {_disagreement(disagreeing, offered)}',
            )


def _port_conflict(offered: Sequence[Offer], used: Sequence[ImportPort], named: str) -> Iterable[Conflict]:
    """Any difference between port sets is one, also a mere superset."""
    disagreeing = sum(set(offer.properties.ports) != set(used) for offer in offered)
    if disagreeing:
        shown = ", ".join(_quoted(f"{port.name or '(unnamed)'} {port.port}/{port.protocol}") for port in used)
        yield Conflict(
            "PortConflict",
            f"Conflicting ports. Using {shown}, the union in which ports of the same name or number are those "
            f'of the {named} service export, "{offered[0].cluster}" first. {_disagreement(disagreeing, offered)}',
        )


def _family_conflict(offered: Sequence[Offer], published: Sequence[str], named: str) -> Iterable[Conflict]:
    """One only where a published family reaches but a part of the clusters (KEP-1645, "ClusterSetIP").

    A ClusterSetIP import has the families of the oldest export: one more in a newer export is lost to nobody, one less
    is a conflict. So it matters which of two is older, unless they are headless.
    """
    disagreeing = sum(not set(published) <= set(offer.properties.ip_families) for offer in offered)
    if disagreeing:
        shown = ", ".join(_quoted(family) for family in published)
        yield Conflict(
            "IPFamilyConflict",
            f"Conflicting ipFamilies. Using {shown}, in the order of the {named} service export in "
            f'"{offered[0].cluster}"; a family that a cluster lacks does not reach its endpoints. '
            f"{_disagreement(disagreeing, offered)}",
        )


def _disagreement(disagreeing: int, offered: Sequence[Offer]) -> str:
    return f"{disagreeing}/{len(offered)} clusters disagree."
