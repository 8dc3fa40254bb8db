"""Selective export: to which clusters a ServiceExport exports.

Without the annotation that is every cluster of the set (KEP-1645). With it, it is the cluster of the export itself and
those that the annotation names; an empty one names none.
"""

from collections.abc import Iterable, Sequence

from mcs.model.multicluster import ServiceExport
from mcs.model.names import EXPORT_TO_ANNOTATION, ClusterId
from mcs.services.observed import Exporter


def named_clusters(export: ServiceExport) -> frozenset[ClusterId] | None:
    """The clusters that the export's annotation names; None when it exports to all."""
    text = export.metadata.annotations.get(EXPORT_TO_ANNOTATION)
    if text is None:
        return None
    return frozenset(ClusterId(name.strip()) for name in text.split(",") if name.strip())


def exports_to(exporter: Exporter, target: ClusterId) -> bool:
    """True when the export counts in `target`; in its own cluster it always does."""
    named = named_clusters(exporter.export)
    return named is None or target == exporter.cluster or target in named


def selection_message(exporter: Exporter, members: frozenset[ClusterId]) -> str:
    """What a limited export says of its clusters, names that no member has above all; empty for one without limits."""
    named = named_clusters(exporter.export)
    if named is None:
        return ""
    message = f" It is exported to {_listed(sorted((named & members) | {exporter.cluster}))} only."
    if unknown := sorted(named - members):
        message += f" No cluster of the set is called {_listed(unknown)}; correct {EXPORT_TO_ANNOTATION}."
    return message


def meetings(exporters: Sequence[Exporter], own: Exporter) -> tuple[tuple[Exporter, ...], ...]:
    """The different groups of exporters that meet in a cluster to which `own` exports, its own cluster's first."""
    names = (named_clusters(exporter.export) or frozenset() for exporter in exporters)
    places = frozenset(exporter.cluster for exporter in exporters).union(*names)
    groups = (
        tuple(exporter for exporter in exporters if exports_to(exporter, place))
        for place in (own.cluster, *sorted(places))
        if exports_to(own, place)
    )
    return tuple(_distinct(groups))


def _distinct(groups: Iterable[tuple[Exporter, ...]]) -> Iterable[tuple[Exporter, ...]]:
    told: set[tuple[ClusterId, ...]] = set()
    for group in groups:
        clusters = tuple(exporter.cluster for exporter in group)
        if clusters not in told:
            told.add(clusters)
            yield group


def _listed(clusters: Iterable[str]) -> str:
    return ", ".join(f'"{cluster}"' for cluster in clusters)
