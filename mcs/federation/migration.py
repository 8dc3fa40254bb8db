"""What changes for the clusters of a KubeFed host when it is taken over: what is told, and what is done.

Observing the host and its members, and carrying out what is decided, is left to others. Nothing here restarts a pod: an
object is adopted as it is, and what would be changed in it is told before.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from mcs.federation.configuration import RAW_STATUS, settings_of
from mcs.federation.definitions import Verdict
from mcs.federation.ledger import says
from mcs.federation.overrides import NotMade
from mcs.federation.template import OF_THE_CLUSTER, member_object, template_warnings
from mcs.model.federated import FederatedObject, FederatedTypeConfig, KubeFedConfig, KubeFedConfigSpec
from mcs.model.names import MANAGED_BY_LABEL, ClusterId
from mcs.model.resources import Resource

CONTROLLER = "kubefed-controller-manager"
"""Name of the Deployment in the system namespace that is KubeFed's controller."""
CORE_WEBHOOKS = "core.kubefed.io"
"""The group that KubeFed's admission webhooks answer for."""

_MOST_FIELDS = 5


class Finding(Struct, frozen=True):
    """Something that will be otherwise than with KubeFed, or that the user must know."""

    about: str
    what: str


def controller_problem(deployment: Mapping[str, Any] | None, namespace: str) -> str:
    """Why KubeFed still works, and what to do; empty when its controller is stopped or not there."""
    if deployment is None:
        return ""
    wanted = (deployment.get("spec") or {}).get("replicas", 1)
    running = (deployment.get("status") or {}).get("replicas", 0)
    if wanted:
        return (
            f"KubeFed's controller runs: the Deployment {namespace}/{CONTROLLER} has {wanted} replicas; stop it first: "
            f"kubectl -n {namespace} scale deployment {CONTROLLER} --replicas=0"
        )
    if running:
        return f"KubeFed's controller is just ending: {running} of its pods are left; try again when they are gone"
    return ""


def definition_verdict(wanted: Mapping[str, Any], present: Mapping[str, Any] | None) -> Verdict:
    """What to do with a definition of KubeFed's own kinds: ours has its fields and more, which a server would drop."""
    if present is None:
        return Verdict("create")
    name = wanted["metadata"]["name"]
    there = {each.get("name") for each in (present.get("spec") or {}).get("versions") or ()}
    if lacking := sorted(there - {each["name"] for each in wanted["spec"]["versions"]}):
        return Verdict(
            "refuse",
            f"its definition {name} has the versions {', '.join(lacking)} besides; upgrade it by hand",
        )
    if says(present, wanted):
        return Verdict("keep")
    return Verdict("replace", f"the definition {name} lacks what is kept here, and is replaced")


def settings_findings(config: KubeFedConfig | None, namespace: str) -> Iterator[Finding]:
    """Settings that are wrong, or that differ from their defaults and have no effect here."""
    if config is None:
        return
    about = f"KubeFedConfig {config.metadata.name}"
    try:
        settings_of(config, namespace)
    except ValueError as error:
        yield Finding(about, f"{error}; until it is right, the defaults are in force")
    spec, default = config.spec, KubeFedConfigSpec()
    without_effect = {
        "controllerDuration.cacheSyncTimeout, since nobody waits for a slow member": (
            spec.controller_duration.cache_sync_timeout != default.controller_duration.cache_sync_timeout
        ),
        "leaderElect, which mcs controller has options for": spec.leader_elect != default.leader_elect,
        "clusterHealthCheck, since members are probed by KubeFed's defaults": (
            spec.cluster_health_check != default.cluster_health_check
        ),
        "syncController.maxConcurrentReconciles, since many objects are worked on at once": (
            spec.sync_controller.max_concurrent_reconciles
            != default.sync_controller.max_concurrent_reconciles
        ),
        "statusController, since the status of each cluster is told by the object itself": (
            spec.status_controller != default.status_controller
        ),
        f"the gate {RAW_STATUS}, since each cluster's counts are told without it": any(
            each.name == RAW_STATUS and each.configuration == "Enabled" for each in spec.feature_gates
        ),
    }
    for setting, is_set in without_effect.items():
        if is_set:
            yield Finding(about, f"has no effect here: {setting}")


def type_findings(config: FederatedTypeConfig) -> Iterator[Finding]:
    """What of a type's configuration is otherwise here."""
    about, labels = f"FederatedTypeConfig {config.metadata.name}", config.metadata.labels
    if config.spec.status_collection == "Enabled":
        yield Finding(
            about, "statusCollection has no effect here: the federated object itself tells the status"
        )
    if labels.get(MANAGED_BY_LABEL) == "Helm":
        yield Finding(
            about, "belongs to a Helm release: helm uninstall would delete it, and end its propagation"
        )


def object_findings(
    federated: FederatedObject,
    kind: str,
    target: Resource[Any],
    present: Mapping[ClusterId, Mapping[str, Any] | None],
) -> Iterator[Finding]:
    """What of a federated object is otherwise here; `present` has it as each of its clusters that was seen has it."""
    key = federated.key
    about = f"{kind} {key.namespace}/{key.name}" if key.namespace else f"{kind} {key.name}"
    metadata = federated.spec.template.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    if isinstance(annotations, dict) and (names := sorted(annotations.keys() - OF_THE_CLUSTER)):
        yield Finding(
            about, f"annotations of its template, which KubeFed dropped, are propagated: {', '.join(names)}"
        )
    for warned in template_warnings(federated):
        yield Finding(about, f"as with KubeFed, {warned.message}")
    alike: dict[str, list[ClusterId]] = {}
    for cluster, there in sorted(present.items()):
        if what := _change(federated, target, cluster, there):
            alike.setdefault(what, []).append(cluster)
    for what, clusters in alike.items():
        yield Finding(about, f"{what} in {', '.join(clusters)}")


def _change(
    federated: FederatedObject, target: Resource[Any], cluster: ClusterId, present: Mapping[str, Any] | None
) -> str:
    """What becomes of the object in one cluster; empty when it is taken over as it is."""
    wanted = member_object(federated, target, cluster, present)
    if isinstance(wanted, NotMade):
        return f"it cannot be made ({wanted.message}), and stays as it is"
    if present is None:
        return "it is missing, and is made"
    # Annotations that KubeFed dropped are told of once, and restart nothing. Items of a list do not say what they are.
    said = {name: value for name, value in wanted.items() if name not in ("apiVersion", "kind", "metadata")}
    said["metadata"] = {"labels": wanted["metadata"]["labels"]}
    fields = list(differences(present, said))
    if not fields:
        return ""
    more = f" and {len(fields) - _MOST_FIELDS} more" if len(fields) > _MOST_FIELDS else ""
    return f"it is changed ({', '.join(fields[:_MOST_FIELDS])}{more})"


def differences(present: Any, desired: Any, path: str = "") -> Iterator[str]:
    """Paths of the fields that are desired and are otherwise; a list is one field."""
    if isinstance(desired, Mapping) and isinstance(present, Mapping):
        for name, said in desired.items():
            if said is not None:
                yield from differences(present.get(name), said, f"{path}/{name}")
    elif not says(present, desired) and desired not in ({}, []):
        yield path


def ledgers_to_free(ledgers: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    """Namespace and name of the ledgers that would go with their federated object, before what it made is gone."""
    for each in ledgers:
        metadata = each.get("metadata") or {}
        if metadata.get("ownerReferences"):
            yield metadata.get("namespace", ""), metadata["name"]


def answers_for_kubefed(configuration: Mapping[str, Any]) -> bool:
    """Whether an admission webhook is asked of KubeFed's kinds: without KubeFed's pods it refuses every write."""
    webhooks = configuration.get("webhooks") or ()
    groups = [
        group
        for each in webhooks
        for rule in each.get("rules") or ()
        for group in rule.get("apiGroups") or ()
    ]
    return CORE_WEBHOOKS in groups
