"""What exports and imports are told of the preference that annotations ask for.

Carrying it out is left to mirrors, kube-proxy and DNS.
"""

from msgspec import Struct

from mcs.model.multicluster import ImportType
from mcs.model.preference import (
    DEFAULT_WEIGHT,
    PREFERENCE_ANNOTATION,
    TRAFFIC_ANNOTATION,
    WEIGHT_ANNOTATION,
    TrafficPreference,
    preference_of,
    preference_problems,
    traffic_preference_of,
)
from mcs.model.registration import ZONE_LABEL
from mcs.model.slices import MOST_ZONES
from mcs.services.observed import Exporter, NodeZones


def preference_message(exporter: Exporter, type_: ImportType) -> str:
    """What of the preference is not heeded and why, and that endpoints are withheld; empty where none is said."""
    annotations = exporter.export.metadata.annotations
    preference = preference_of(annotations)
    sentences = [f"{problem} It is not heeded." for problem in preference_problems(annotations)]
    if preference.weight == 0:
        sentences.append(f"{WEIGHT_ANNOTATION} 0 withholds the endpoints of this cluster.")
    if type_ == "ClusterSetIP":
        if preference.weight not in (0, DEFAULT_WEIGHT):
            sentences.append(
                f"{WEIGHT_ANNOTATION} {preference.weight} is not heeded: a virtual IP cannot weight; use 0, or a "
                "headless Service."
            )
        if PREFERENCE_ANNOTATION in preference.annotations:
            sentences.append(
                f"{PREFERENCE_ANNOTATION} is not heeded: a virtual IP has no order; use {TRAFFIC_ANNOTATION}, "
                "trafficDistribution, or a headless Service."
            )
    elif (traffic := traffic_preference_of(annotations)) is not None:
        sentences.append(
            f"{TRAFFIC_ANNOTATION} {traffic} is not heeded: a headless Service has no virtual IP; use "
            f"{PREFERENCE_ANNOTATION}."
        )
    return "".join(f" {sentence}" for sentence in sentences)


class Unheeded(Struct, frozen=True):
    """Why kube-proxy does not heed a preference everywhere in a cluster: a reason in one word, and what to do."""

    reason: str
    message: str


def unheeded_in(
    preference: TrafficPreference | None, zones: NodeZones | None, *, has_own_endpoints: bool
) -> Unheeded | None:
    """What keeps kube-proxy from heeding the preference in a cluster; None when nothing does.

    `zones` are those of its nodes, None when they cannot be read. Without endpoints of the cluster's own, which
    `has_own_endpoints` tells of, there is no choice between own and foreign ones.
    """
    is_of_clusters = preference in ("local", "remote")
    if preference in (None, "none") or (is_of_clusters and not has_own_endpoints):
        return None
    if zones is None:
        return _UNKNOWN_NODES if is_of_clusters else None
    if not zones.names:
        return _NO_ZONES
    found = []
    if is_of_clusters and (beyond := zones.names[MOST_ZONES:]):
        listed = ", ".join(f'"{each}"' for each in beyond)
        message = (
            f"The nodes here are in {len(zones.names)} zones, but hints name {MOST_ZONES}: {listed} not."
        )
        found.append(Unheeded("TooManyZones", message))
    if zones.has_nodes_without:
        found.append(_NODES_WITHOUT_ZONE)
    return Unheeded(found[0].reason, " ".join(each.message for each in found)) if found else None


_UNKNOWN_NODES = Unheeded(
    "NodesUnknown",
    "The nodes of this cluster may not be read, so that their zones are not known: all endpoints are used; grant list "
    "and watch of nodes.",
)
_NO_ZONES = Unheeded(
    "NoZones",
    f"No node of this cluster has the label {ZONE_LABEL}, without which kube-proxy ignores hints: all endpoints are "
    "used; label the nodes.",
)
_NODES_WITHOUT_ZONE = Unheeded(
    "NodesWithoutZone",
    f"Nodes of this cluster lack the label {ZONE_LABEL}, without which kube-proxy ignores hints: from there all "
    "endpoints are used; label them.",
)
