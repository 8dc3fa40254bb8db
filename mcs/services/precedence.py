"""Who was there first, where the policy says "first-seen": the order of its exporters that an import remembers.

The time of an export comes from its own API server, which may lie. So the import itself keeps, in an annotation, in
which order its exporters came; after a restart, and to a second controller, it says the same. Merging by it is left to
`merge`.
"""

from collections import Counter
from collections.abc import Iterable

from mcs.model.multicluster import ServiceImport
from mcs.model.names import PRECEDENCE_ANNOTATION, ClusterId
from mcs.services.observed import ObservedExport, ObservedTarget


def remembered_order(service_import: ServiceImport | None) -> tuple[ClusterId, ...]:
    """The clusters in the order that an import of ours remembers; none for another."""
    if service_import is None or not service_import.is_ours:
        return ()
    text = service_import.metadata.annotations.get(PRECEDENCE_ANNOTATION, "")
    return tuple(ClusterId(name) for name in dict.fromkeys(text.split(",")) if name)


def order_of_most(imports: Iterable[ServiceImport]) -> tuple[ClusterId, ...]:
    """The order that most of several clusters' imports of a service remember, for a cluster that has none yet.

    Each member writes what it likes into its own; of orders that equally many remember the first by name counts.
    """
    votes = Counter(order for each in imports if (order := remembered_order(each)))
    return min(votes, key=lambda order: (-votes[order], order), default=())


def order_for_target(observed: ObservedTarget) -> tuple[ClusterId, ...]:
    """Which exporters come before all others in a target, first the one that decides; none where ages alone count."""
    if observed.policy.precedence == "oldest":
        return ()
    return remembered_order(observed.service_import) or observed.order_elsewhere


def order_for_export(observed: ObservedExport) -> tuple[ClusterId, ...]:
    """The same for the conditions of an export, as its own cluster's import remembers it."""
    return () if observed.policy.precedence == "oldest" else remembered_order(observed.own_import)
