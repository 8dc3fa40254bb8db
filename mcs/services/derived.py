"""The derived Service: a selector-less Service in the target whose cluster IPs are the clusterset IPs of an import.

kube-proxy routes it by the mirrored slices that carry its name. Only imports of type ClusterSetIP have one.
Kubernetes fixes the first IP family of a Service for its life, which is why a present derived Service has a say in
the desired one.
"""

from typing import Any

from mcs.model.meta import ObjectMeta
from mcs.model.names import MANAGED_BY, MANAGED_BY_LABEL, SERVICE_NAME_LABEL, ServiceKey, derived_service_name
from mcs.model.services import Service, ServicePort, ServiceSpec
from mcs.services.addresses import families_of
from mcs.services.merge import Properties
from mcs.services.ports import routing_names


def has_addresses(derived: Service) -> bool:
    """True once the API server has given it cluster IPs."""
    return bool(derived.spec.cluster_ips) and not derived.is_headless


def usable_families(merged: Properties, supported: frozenset[str] | None) -> tuple[str, ...]:
    """The families of the import in which the target has Service addresses; all of them when that is unknown."""
    return tuple(family for family in merged.ip_families if supported is None or family in supported)


def must_be_replaced(present: Service, families: tuple[str, ...]) -> bool:
    """True when no update can make `present` serve any of `families`: it has no cluster IP, or the wrong family."""
    given = present.spec.ip_families
    return present.is_headless or bool(given and not set(given) & set(families))


def desired_derived(
    key: ServiceKey, merged: Properties, families: tuple[str, ...], present: Service | None
) -> Service:
    """The derived Service of a ClusterSetIP import.

    `present` is ours and not to be replaced. It keeps the families that it has: its addresses are stable for the life
    of the import (KEP-1645, "ClusterSetIP"), and a second family is only ever added.
    """
    names = routing_names(merged.ports)
    policy, stated_families = _families(families, present)
    return Service(
        metadata=ObjectMeta(
            name=derived_service_name(key),
            namespace=key.namespace,
            labels={MANAGED_BY_LABEL: MANAGED_BY, SERVICE_NAME_LABEL: key.name},
        ),
        spec=ServiceSpec(
            type="ClusterIP",
            ports=tuple(
                ServicePort(
                    port=port.port,
                    name=names[port.protocol, port.port],
                    protocol=port.protocol,
                    app_protocol=port.app_protocol,
                )
                for port in merged.ports
            ),
            ip_family_policy=policy,
            ip_families=stated_families,
            session_affinity=merged.session_affinity,
            session_affinity_config=merged.session_affinity_config,
            internal_traffic_policy=merged.internal_traffic_policy,
            traffic_distribution=merged.traffic_distribution,
        ),
    )


def _families(wanted: tuple[str, ...], present: Service | None) -> tuple[str, tuple[str, ...]]:
    """ipFamilyPolicy and ipFamilies. Two families are preferred, never named: a cluster refuses one it lacks."""
    if len(wanted) > 1:
        return "PreferDualStack", ()
    if present is None or not present.spec.ip_families:
        return "SingleStack", wanted
    if present.spec.ip_family_policy == "SingleStack":
        return "SingleStack", present.spec.ip_families
    return "PreferDualStack", ()


def is_as_desired(present: Service, desired: Service) -> bool:
    """True when all that we say of the derived Service is so."""
    stated = desired.spec.ip_families
    return (
        (not stated or present.spec.ip_families == stated)
        and _said(present) == _said(desired)
        and desired.metadata.labels.items() <= present.metadata.labels.items()
    )


def _said(service: Service) -> tuple[Any, ...]:
    spec = service.spec
    return (
        spec.type or "ClusterIP",
        sorted((port.protocol, port.port, port.name, port.app_protocol or "") for port in spec.ports),
        spec.ip_family_policy,
        spec.session_affinity or "None",
        spec.session_affinity_config,
        spec.internal_traffic_policy or "Cluster",
        spec.traffic_distribution,
    )


def families(service: Service) -> tuple[str, ...]:
    """The family of each of its cluster IPs, in their order."""
    return service.spec.ip_families or families_of(service.spec.cluster_ips)
