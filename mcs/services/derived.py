"""The derived Service: a selector-less Service in the target whose cluster IPs are the clusterset IPs of an import.

kube-proxy routes it by the mirrored slices that carry its name. Only imports of type ClusterSetIP have one.
Its addresses live as long as it does, so it is updated in place wherever Kubernetes allows that.
"""

from typing import Any

from mcs.model.addresses import families_of
from mcs.model.meta import ObjectMeta
from mcs.model.names import MANAGED_BY, MANAGED_BY_LABEL, SERVICE_NAME_LABEL, ServiceKey, derived_service_name
from mcs.model.services import Service, ServicePort, ServiceSpec
from mcs.model.slices import IPV4, IPV6
from mcs.services.merge import Properties
from mcs.services.ports import routing_names

BOTH_FAMILIES = (str(IPV4), str(IPV6))


def belongs_to(present: Service, key: ServiceKey) -> bool:
    """True when a Service of the derived name is ours and this service's.

    Ten characters of a hash can be found twice by who searches long enough: the name alone proves nothing.
    """
    return present.is_ours and present.metadata.labels.get(SERVICE_NAME_LABEL, key.name) == key.name


def has_addresses(derived: Service) -> bool:
    """True once the API server has given it cluster IPs."""
    return bool(derived.spec.cluster_ips) and not derived.is_headless


def supports(merged: Properties, known: frozenset[str] | None, present: Service | None) -> bool | None:
    """Whether the target can serve the import's families; None when only a try can tell.

    `known` are the families that Services there have (None: nothing is known), which need not be all: a Service has a
    second family only when it asks for one. A try is a derived Service that prefers two and shows what it was given.
    A headless service takes no address of the target, so no family is refused for it: what Services are given does not
    tell what its clients reach.
    """
    if known is None or len(merged.ip_families) > 1 or merged.type == "Headless":
        return True
    given = frozenset(families(present)) if present is not None and present.is_ours else frozenset()
    if set(merged.ip_families) & (known | given):
        return True
    if given and present is not None and _asked_for_two(present):
        return False
    return None


def _asked_for_two(present: Service) -> bool:
    return present.spec.ip_family_policy == "PreferDualStack"


def must_be_replaced(present: Service, families: tuple[str, ...]) -> bool:
    """True when no update can make `present` serve `families`: it has no cluster IP, or the wrong first family."""
    given = present.spec.ip_families
    return present.is_headless or bool(given and given[0] not in families)


def desired_derived(
    key: ServiceKey, merged: Properties, families: tuple[str, ...], distribution: str | None
) -> Service:
    """The derived Service of a ClusterSetIP import that may have addresses of `families`.

    Two families are preferred, never named: the API server refuses a family that its cluster lacks.
    """
    names = routing_names(merged.ports)
    is_single = len(families) == 1
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
            ip_family_policy="SingleStack" if is_single else "PreferDualStack",
            ip_families=families if is_single else (),
            session_affinity=merged.session_affinity,
            session_affinity_config=merged.session_affinity_config,
            internal_traffic_policy=merged.internal_traffic_policy,
            traffic_distribution=distribution,
        ),
    )


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
