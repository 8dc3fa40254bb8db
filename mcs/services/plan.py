"""The plans: what to write in a target for one service, and what to say on one export.

Pure functions from what is observed to actions in the order in which they are to be carried out: endpoints before
ports, ports before names; deletes last and in the reverse order, so that at no time a name answers without what it
needs. A plan that is carried out leaves nothing to plan. What the actions contain is left to the other modules.
"""

from collections.abc import Mapping
from itertools import takewhile
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from mcs.model.actions import Action, Apply, Delete
from mcs.model.meta import KubernetesObject, ObjectMeta
from mcs.model.multicluster import ServiceExport, ServiceExportStatus
from mcs.model.names import ClusterId, derived_service_name
from mcs.model.resources import SERVICE_EXPORTS, SERVICE_IMPORTS, SERVICES, Resource
from mcs.model.services import Service
from mcs.services import derived, exports, imports, mirrors
from mcs.services.events import export_events, import_events
from mcs.services.exports import own_exporter
from mcs.services.imports import Addressing, Standing
from mcs.services.merge import Offer, Properties, merge, offers, remembered_properties
from mcs.services.observed import Exporter, ObservedExport, ObservedTarget
from mcs.services.ports import routing_names
from mcs.services.precedence import order_for_target
from mcs.services.preference import unheeded_in
from mcs.services.selection import exports_to
from mcs.services.topology import Distribution
from mcs.services.validity import valid_exporters
from mcs.services.withdrawal import plan_withdrawal


def plan_target(observed: ObservedTarget) -> tuple[Action, ...]:
    """What makes the target hold the service as its exports ask, in order; nothing when it does already.

    While an exporter is not seen, what the import says on its behalf stays: the present import then counts as the
    oldest export, to which seen exporters can only add, and the clusters that cannot be seen stay listed. A cluster
    whose endpoints are withdrawn exports all the same: it takes part in the merge, so that its return changes nothing.
    """
    if (
        observed.namespace != "present"
        or observed.target not in observed.seen
        or not observed.policy.of(observed.target).may_import_into(observed.key.namespace)
    ):
        return ()
    exporters = tuple(
        exporter
        for exporter in valid_exporters(observed.key, observed.seen, observed.exporters)
        if exports_to(exporter, observed.target)
    )
    unseen = _unseen_exporters(observed)
    order = order_for_target(observed)
    offered = _with_remembered(observed, unseen, offers(exporters, order), order)
    if not offered:
        return (*mirrors.mirror_deletes(observed, ()), *(_removal(observed) if not unseen else ()))
    merged = merge(offered)
    if observed.policy.precedence == "first-seen":
        merged = replace(merged, order=_order(order, offered, unseen))
    return _plan_import(observed, exporters, merged, unseen)


def _unseen_exporters(observed: ObservedTarget) -> frozenset[ClusterId]:
    """Clusters that exported when we last knew: the import lists them, or a mirror of ours holds their endpoints."""
    present = observed.service_import
    listed = (
        {ClusterId(each.cluster) for each in present.status.clusters}
        if present and present.is_ours
        else set()
    )
    sources = {ClusterId(each.source_cluster) for each in observed.mirrors if mirrors.is_our_mirror(each)}
    return frozenset((listed | sources) - observed.seen - {ClusterId("")})


def _with_remembered(
    observed: ObservedTarget,
    unseen: frozenset[ClusterId],
    offered: tuple[Offer, ...],
    order: tuple[ClusterId, ...],
) -> tuple[Offer, ...]:
    """The offers with one for the exporters that are not seen; where an `order` is known it takes their place in it."""
    present = observed.service_import
    if not unseen or present is None or not present.is_ours:
        return offered
    remembered = Offer(min(unseen), remembered_properties(present))
    before = set(takewhile(lambda cluster: cluster not in unseen, order)) if unseen & set(order) else set()
    first = tuple(takewhile(lambda offer: offer.cluster in before, offered))
    return (*first, remembered, *offered[len(first) :])


def _order(
    order: tuple[ClusterId, ...], offered: tuple[Offer, ...], unseen: frozenset[ClusterId]
) -> tuple[ClusterId, ...]:
    """What the import shall remember: who was there and still is, or may be, and then who came."""
    exporting = [offer.cluster for offer in offered]
    still = [cluster for cluster in order if cluster in unseen or cluster in exporting]
    return tuple(dict.fromkeys((*still, *exporting)))


def _plan_import(
    observed: ObservedTarget,
    exporters: tuple[Exporter, ...],
    merged: Properties,
    unseen: frozenset[ClusterId],
) -> tuple[Action, ...]:
    holder = _plan_derived(observed, merged)
    distribution = merged.traffic_distribution
    is_refused = _is_distribution_refused(observed, distribution)
    desired_mirrors = mirrors.desired_mirrors(
        observed,
        exporters,
        _mirror_port_names(merged),
        holder.carries_traffic_as,
        Distribution(
            distribution,
            knows_nodes=not is_refused,
            preference=merged.traffic_preference,
            zones=observed.zones.names if observed.zones else (),
        ),
        is_for_virtual_ip=merged.type == "ClusterSetIP",
    )
    withdrawal = plan_withdrawal(observed, desired_mirrors)
    standing = Standing(
        clusters=({exporter.cluster for exporter in exporters} | unseen) - withdrawal.clusters,
        has_slices=None if observed.has_older_crd else bool(withdrawal.mirrors),
        withdrawal=withdrawal.told,
    )
    addressing = holder.addressing
    if addressing is not None and holder.carries_traffic_as:
        has_own = observed.target in standing.clusters
        unheeded = unheeded_in(merged.traffic_preference, observed.zones, has_own_endpoints=has_own)
        addressing = replace(addressing, unheeded=unheeded)
    return (
        *mirrors.mirror_applies(observed, withdrawal.mirrors),
        *holder.actions,
        *_import_applies(observed, merged, addressing, standing),
        *mirrors.mirror_deletes(observed, withdrawal.mirrors),
        *holder.deletes,
    )


def _mirror_port_names(merged: Properties) -> Mapping[tuple[str, int], str]:
    """Only a derived Service minds unnamed ports; DNS gives an unnamed port of a headless service no SRV record."""
    if merged.type == "ClusterSetIP":
        return routing_names(merged.ports)
    return {(port.protocol, port.port): port.name for port in merged.ports}


class _Holder(Struct, frozen=True):
    """What becomes of the derived Service, and with it of the import's addresses (None: not to be told yet)."""

    addressing: Addressing | None
    carries_traffic_as: str = ""
    actions: tuple[Action, ...] = ()
    deletes: tuple[Action, ...] = ()


def _plan_derived(observed: ObservedTarget, merged: Properties) -> _Holder:
    present = observed.derived
    supported = derived.supports(merged, observed.families, present)
    if supported is None and imports.says_family_is_not_supported(
        observed.service_import, merged.ip_families
    ):
        supported = False
    if supported is False:
        lacking = ", ".join(merged.ip_families)
        addressing = Addressing(
            (),
            merged.ip_families,
            "False",
            imports.IP_FAMILY_NOT_SUPPORTED,
            f"This cluster has no Service addresses of {lacking}, the IP families of the service.",
            imports.IP_FAMILY_NOT_SUPPORTED,
        )
        return _Holder(addressing, deletes=_derived_deletes(observed))
    if merged.type == "Headless":
        return _Holder(Addressing((), merged.ip_families), deletes=_derived_deletes(observed))
    if present is not None and not derived.belongs_to(present, observed.key):
        return _Holder(_addressing_without_derived(observed))
    if not merged.ports:
        pending = Addressing((), (), "False", "Pending", "No exporter has a port that a Service can have.")
        return _Holder(pending, deletes=_derived_deletes(observed))
    return _plan_own_derived(observed, merged, is_a_try=supported is None)


def _plan_own_derived(observed: ObservedTarget, merged: Properties, *, is_a_try: bool) -> _Holder:
    name, present = derived_service_name(observed.key), observed.derived
    if present is not None and present.is_terminating:
        return _Holder(None, name)
    families = derived.BOTH_FAMILIES if is_a_try else merged.ip_families
    replaced = present is not None and derived.must_be_replaced(present, families)
    kept = None if replaced else present
    wanted = merged.traffic_distribution
    refused = wanted if _is_distribution_refused(observed, wanted) else None
    desired = derived.desired_derived(observed.key, merged, families, None if refused else wanted)
    actions: tuple[Action, ...] = _derived_deletes(observed) if replaced else ()
    if kept is None or not derived.is_as_desired(kept, desired):
        actions += (Apply(cluster=observed.target, resource=SERVICES, object=desired, is_hashed=True),)
    if is_a_try or kept is None or not derived.has_addresses(kept):
        return _Holder(None, "" if is_a_try else name, actions)
    return _Holder(replace(_addressing_of(kept), refused_distribution=refused), name, actions)


def _is_distribution_refused(observed: ObservedTarget, distribution: str | None) -> bool:
    return distribution is not None and (
        distribution in observed.refused_distributions
        or imports.says_distribution_is_refused(observed.service_import, distribution)
    )


def _addressing_of(service: Service) -> Addressing:
    return Addressing(service.spec.cluster_ips[:2], derived.families(service)[:2])


def _addressing_without_derived(observed: ObservedTarget) -> Addressing:
    """The name of the derived Service is taken: the import keeps the addresses it has and says what to do."""
    present, name = observed.service_import, derived_service_name(observed.key)
    holder = observed.derived
    whose = "belongs to another import" if holder and holder.is_ours else "is not managed by mcs-controller"
    return Addressing(
        present.spec.ips if present else (),
        present.spec.ip_families if present else (),
        "False",
        "Pending",
        f'Service "{observed.key.namespace}/{name}" {whose}, but the clusterset IPs belong there; rename or delete it.',
        "DerivedServiceNameTaken",
    )


def _import_applies(
    observed: ObservedTarget,
    merged: Properties,
    addressing: Addressing | None,
    standing: Standing,
) -> tuple[Action, ...]:
    present = observed.service_import
    if addressing is None or (present is not None and (not present.is_ours or present.is_terminating)):
        return ()
    desired = imports.desired_import(observed.key, merged, addressing)
    status = imports.desired_status(observed.key, present, addressing, standing, observed.now)
    actions: tuple[Action, ...] = ()
    if present is None or not imports.is_as_desired(present, desired):
        actions += (Apply(cluster=observed.target, resource=SERVICE_IMPORTS, object=desired),)
    if present is None or not imports.is_status_as_desired(present, status):
        actions += (
            Apply(cluster=observed.target, resource=SERVICE_IMPORTS, object=status, subresource="status"),
        )
    if actions:
        desired = replace(desired, status=status.status)
        told = import_events(
            observed.target, observed.key, present, desired, addressing.told_as, observed.now
        )
        actions += told
    return actions


def _removal(observed: ObservedTarget) -> tuple[Action, ...]:
    """Nobody exports the service any more: its derived Service goes, and its import last."""
    return (*_derived_deletes(observed), *_deletes(observed, SERVICE_IMPORTS, observed.service_import))


def _derived_deletes(observed: ObservedTarget) -> tuple[Action, ...]:
    present = observed.derived
    if present is not None and not derived.belongs_to(present, observed.key):
        return ()
    return _deletes(observed, SERVICES, present)


def _deletes(
    observed: ObservedTarget, resource: Resource[Any], present: KubernetesObject | None
) -> tuple[Action, ...]:
    if present is None or not present.is_ours or present.is_terminating:
        return ()
    return (Delete.of(observed.target, resource, present),)


def plan_export(observed: ObservedExport) -> tuple[Action, ...]:
    """The one status write that makes the export's conditions true, or nothing."""
    own = own_exporter(observed)
    if own is None:
        return ()
    desired = exports.desired_conditions(observed, own)
    if exports.is_as_desired(own.export, desired):
        return ()
    status = ServiceExport(
        metadata=ObjectMeta(name=observed.key.name, namespace=observed.key.namespace),
        status=ServiceExportStatus(conditions=desired),
    )
    return (
        Apply(cluster=observed.cluster, resource=SERVICE_EXPORTS, object=status, subresource="status"),
        *export_events(observed.cluster, own.export, desired, observed.now),
    )
