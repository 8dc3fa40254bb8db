"""Which mirrors of one service are withdrawn in a target, and how that is written and told.

A withdrawn mirror stays, with its endpoints not ready: kube-proxy gives them no traffic, DNS no record, by address or
by host name, and CoreDNS and other readers of slices do likewise without knowing us. So what comes back is the same
object, and a controller that has never seen the cluster can still give its endpoints back. Whose endpoints are to be
withdrawn is decided in `mcs.membership`, but for one thing: the last ready endpoints of a service are not.
"""

from collections.abc import Iterable, Mapping

from msgspec import Struct
from msgspec.structs import replace

from mcs.model.meta import Condition
from mcs.model.names import WITHDRAWN_ANNOTATION, ClusterId
from mcs.model.slices import Endpoint, EndpointConditions, EndpointSlice
from mcs.services.conditions import condition
from mcs.services.imports import ENDPOINTS_WITHDRAWN
from mcs.services.mirrors import is_our_mirror, owned_metadata
from mcs.services.observed import ObservedTarget


class Withdrawal(Struct, frozen=True):
    """`clusters` are those that lose their endpoints here, `mirrors` what all mirrors of the service shall say."""

    clusters: frozenset[ClusterId]
    mirrors: tuple[EndpointSlice, ...]
    told: Condition | None


def plan_withdrawal(observed: ObservedTarget, desired: Iterable[EndpointSlice]) -> Withdrawal:
    """What becomes of the `desired` mirrors, and of those present ones whose cluster cannot be seen.

    Mirrors that serve again come first and those that are withdrawn last, so that no moment has fewer endpoints than
    both states. A cluster without a mirror here has nothing to withdraw.
    """
    marks = {
        ClusterId(each.source_cluster): each.metadata.annotations[WITHDRAWN_ANNOTATION]
        for each in observed.mirrors
        if is_our_mirror(each) and is_withdrawn(each)
    }
    remembered = (
        _served(each)
        for each in observed.mirrors
        if is_our_mirror(each) and each.source_cluster not in observed.seen
    )
    serving = (*desired, *remembered)
    reasons = {
        cluster: observed.withdrawn.get(cluster) or marks[cluster]
        for cluster in sorted({ClusterId(each.source_cluster) for each in serving})
        if cluster in observed.withdrawn or (cluster in observed.undecided and cluster in marks)
    }
    are_last = not any(_has_ready(each) for each in serving if each.source_cluster not in reasons)
    withdrawn = frozenset[ClusterId]() if are_last else frozenset(reasons)
    were_withdrawn = {each.metadata.name for each in observed.mirrors if is_withdrawn(each)}

    def haste(mirror: EndpointSlice) -> int:
        return 2 if is_withdrawn(mirror) else 0 if mirror.metadata.name in were_withdrawn else 1

    return Withdrawal(
        withdrawn,
        tuple(
            sorted(
                (
                    _withdrawn(each, reasons[ClusterId(each.source_cluster)])
                    if each.source_cluster in withdrawn
                    else each
                    for each in serving
                ),
                key=haste,
            )
        ),
        _told(observed, reasons, are_last=are_last) if any(map(_has_ready, serving)) else None,
    )


def is_withdrawn(mirror: EndpointSlice) -> bool:
    """True for a mirror whose endpoints are not ready because they are withdrawn."""
    return WITHDRAWN_ANNOTATION in mirror.metadata.annotations


def _has_ready(mirror: EndpointSlice) -> bool:
    return any(endpoint.is_ready for endpoint in mirror.endpoints or ())


def _withdrawn(mirror: EndpointSlice, reason: str) -> EndpointSlice:
    annotations = {**mirror.metadata.annotations, WITHDRAWN_ANNOTATION: reason}
    return replace(
        mirror,
        metadata=replace(mirror.metadata, annotations=annotations),
        endpoints=tuple(map(_unready, mirror.endpoints or ())),
    )


def _unready(endpoint: Endpoint) -> Endpoint:
    """`serving` remembers whether it was ready; terminating, kube-proxy would fall back to what serves."""
    said = endpoint.conditions
    return replace(
        endpoint, conditions=EndpointConditions(ready=False, serving=said.ready, terminating=False)
    )


def _served(mirror: EndpointSlice) -> EndpointSlice:
    """A present mirror of ours as it is applied, its endpoints ready again if they are withdrawn."""
    metadata = owned_metadata(mirror)
    if not is_withdrawn(mirror):
        return replace(mirror, metadata=metadata)
    endpoints = tuple(
        replace(
            each,
            conditions=EndpointConditions(ready=each.conditions.serving, serving=each.conditions.serving),
        )
        for each in mirror.endpoints or ()
    )
    return replace(mirror, metadata=metadata, endpoints=endpoints)


def _told(observed: ObservedTarget, reasons: Mapping[ClusterId, str], *, are_last: bool) -> Condition | None:
    if not reasons:
        return None
    before = observed.service_import.status.conditions if observed.service_import else ()
    outcome = (
        "its endpoints stay, for no other cluster has ready ones"
        if are_last
        else "its endpoints are withdrawn"
    )
    return condition(
        before,
        ENDPOINTS_WITHDRAWN,
        "False" if are_last else "True",
        "LastReadyEndpoints" if are_last else "Withdrawn",
        " ".join(f'Cluster "{cluster}" {reason}; {outcome}.' for cluster, reason in reasons.items()),
        observed.now,
    )
