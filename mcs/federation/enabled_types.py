"""Which types are propagated, why the others are not, and what their configurations say of that.

Source: KubeFed's FederatedTypeConfig controller and its webhooks. Nothing that was propagated is deleted when a type
is disabled or its configuration deleted. Running what is propagated is left to others.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Literal

import msgspec
from msgspec import Struct

from mcs.federation.configuration import PUSH_RECONCILER, Settings
from mcs.model.actions import Action, Patch, RecordEvent
from mcs.model.events import new_event
from mcs.model.federated import (
    FEDERATED_TYPE_CONFIGS,
    NAMESPACES_TYPE,
    TYPE_CONFIG_FINALIZER,
    FederatedTypeConfig,
    FederatedTypeConfigStatus,
    Running,
    type_config_name,
)
from mcs.model.names import ClusterId

Reason = Literal[
    "",
    "InvalidName",
    "InvalidFederatedType",
    "KindFederatedTwice",
    "ScopeMismatch",
    "ClusterScopeRefused",
    "NamespacesNotFederated",
    "PropagationSwitchedOff",
    "FederatedKindUnavailable",
]
"""Why a type that is enabled is not propagated, as the reason of an Event; empty when it is."""


class Refusal(Struct, frozen=True):
    """Why a type that is enabled is not propagated; `message` says what to do."""

    reason: Reason
    message: str


def decide_types(
    configs: Iterable[FederatedTypeConfig], settings: Settings
) -> tuple[Mapping[str, FederatedTypeConfig], Mapping[str, Refusal]]:
    """The types to propagate, and why others that are enabled are not, each by name. The older one has precedence."""
    ordered = sorted(configs, key=lambda each: (each.metadata.creation_timestamp, each.metadata.name))
    running: dict[str, FederatedTypeConfig] = {}
    refused: dict[str, Refusal] = {}
    for config in ordered:
        if not config.is_enabled:
            continue
        refusal = _refusal(config, ordered, running.values(), settings)
        if refusal is None:
            running[config.metadata.name] = config
        else:
            refused[config.metadata.name] = refusal
    return running, refused


def _refusal(
    config: FederatedTypeConfig,
    configs: Iterable[FederatedTypeConfig],
    before: Iterable[FederatedTypeConfig],
    settings: Settings,
) -> Refusal | None:
    target, federated = config.spec.target_type, config.spec.federated_type
    name, wanted = config.metadata.name, type_config_name(target.group, target.plural_name)
    if not settings.propagates:
        return Refusal("PropagationSwitchedOff", f"the feature gate {PUSH_RECONCILER} is Disabled")
    if name != wanted:
        return Refusal("InvalidName", f'the type configuration of this target must be named "{wanted}"')
    if "." not in federated.group:
        return Refusal(
            "InvalidFederatedType",
            f'the group "{federated.group}" of the federated kind needs a dot, as in types.kubefed.io',
        )
    is_of_namespaces = name == NAMESPACES_TYPE
    if federated.scope != ("Namespaced" if is_of_namespaces else target.scope):
        return Refusal(
            "ScopeMismatch",
            "FederatedNamespace must be Namespaced"
            if is_of_namespaces
            else f"{target.kind} is {target.scope}, and so must {federated.kind} be",
        )
    for each in before:
        there = each.spec.federated_type
        if each.spec.target_type.kind == target.kind or (there.group, there.plural_name) == (
            federated.group,
            federated.plural_name,
        ):
            # Their ledgers would have the same names.
            return Refusal(
                "KindFederatedTwice", f"{each.metadata.name} has this kind already; disable one of them"
            )
    if settings.scope == "Namespaced":
        if target.scope == "Cluster":
            return Refusal(
                "ClusterScopeRefused",
                f"{target.kind} is in no namespace, and this control plane works in {settings.system_namespace} alone",
            )
    elif target.scope == "Namespaced" and namespaces_type(configs) is None:
        return Refusal(
            "NamespacesNotFederated",
            f"what is in a namespace goes where its namespace goes; enable {NAMESPACES_TYPE}, too",
        )
    return None


def namespaces_type(configs: Iterable[FederatedTypeConfig]) -> FederatedTypeConfig | None:
    """The configuration of FederatedNamespace, which says where namespaced objects may go; enabled or not."""
    found = (each for each in configs if each.metadata.name == NAMESPACES_TYPE and not each.is_terminating)
    return next(found, None)


class ObservedType(Struct, frozen=True, kw_only=True):
    """One configuration, and what has become of it.

    `running` is None while it is not known yet whether objects of the type can be read. A type that is being stopped
    `is_stopped` once nothing of it runs any more.
    """

    config: FederatedTypeConfig
    running: Running | None
    is_stopped: bool
    is_wanted: bool
    refusal: Refusal | None = None
    is_told: bool = False
    """Whether this refusal was told before."""


def plan_type(observed: ObservedType, host: ClusterId, now: str) -> tuple[Action, ...]:
    """Keep or release the configuration, and tell what runs, if that is another than it says already."""
    config = observed.config
    if config.is_terminating and observed.is_stopped:
        return tuple(_finalizer(config, host, is_kept=False))
    actions: list[Action] = []
    if observed.is_wanted:
        actions += _finalizer(config, host, is_kept=True)
    actions += _status(observed, host)
    if observed.refusal is not None and not observed.is_told:
        actions.append(_event(config, observed.refusal, host, now))
    return tuple(actions)


def _finalizer(config: FederatedTypeConfig, host: ClusterId, *, is_kept: bool) -> list[Action]:
    metadata = config.metadata
    others = tuple(each for each in metadata.finalizers if each != TYPE_CONFIG_FINALIZER)
    wanted = (*others, TYPE_CONFIG_FINALIZER) if is_kept else others
    if (TYPE_CONFIG_FINALIZER in metadata.finalizers) == is_kept:
        return []
    # The list is replaced whole, so nobody may have changed it meanwhile.
    changes = {"metadata": {"finalizers": list(wanted), "resourceVersion": metadata.resource_version}}
    return [_patch(config, host, changes)]


def _status(observed: ObservedType, host: ClusterId) -> list[Action]:
    if observed.running is None:
        return []
    status = FederatedTypeConfigStatus(
        observed_generation=observed.config.metadata.generation,
        propagation_controller=observed.running,
        # What members say of their objects is told on the federated object itself.
        status_controller="NotRunning",
    )
    if status == observed.config.status:
        return []
    changes: dict[str, Any] = {"status": msgspec.to_builtins(status)}
    return [_patch(observed.config, host, changes, "status")]


def _patch(
    config: FederatedTypeConfig, host: ClusterId, changes: dict[str, Any], subresource: str = ""
) -> Patch:
    return Patch(
        cluster=host,
        resource=FEDERATED_TYPE_CONFIGS,
        namespace=config.metadata.namespace,
        name=config.metadata.name,
        changes=changes,
        subresource=subresource,
    )


def _event(config: FederatedTypeConfig, refusal: Refusal, host: ClusterId, now: str) -> Action:
    metadata = config.metadata
    about = FEDERATED_TYPE_CONFIGS.reference(metadata)
    event = new_event(about, "Warning", refusal.reason, refusal.message, now, namespace=metadata.namespace)
    return RecordEvent(cluster=host, about=FEDERATED_TYPE_CONFIGS, object=event)
