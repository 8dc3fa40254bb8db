"""What may not stand in Deployments, ReplicaSets and StatefulSets, and what may not change there.

Pod templates are judged by `validation_pod`. (Kubernetes concepts, "Deployments", "StatefulSets".)
"""

import re
from collections.abc import Iterator
from typing import Any

from mcs.sandbox.apply.causes import (
    Cause,
    forbidden,
    immutable,
    invalid,
    invalid_each,
    negative,
    not_supported,
    required,
)
from mcs.sandbox.apply.formats import label_errors, label_value_errors, qualified_name_errors
from mcs.sandbox.apply.label_selectors import chooses
from mcs.sandbox.apply.schemas import Object
from mcs.sandbox.apply.validation_metadata import invalid_labels
from mcs.sandbox.apply.validation_pod import invalid_pod_spec

OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")
MUTABLE = (
    *("replicas", "ordinals", "template", "updateStrategy", "revisionHistoryLimit"),
    *("persistentVolumeClaimRetentionPolicy", "minReadySeconds"),
)


def invalid_deployment(deployment: Object, old: Object | None) -> Iterator[Cause]:
    """Causes for a Deployment that has its defaults."""
    spec = deployment["spec"]
    yield from negative(spec, "spec", "replicas")
    yield from _invalid_selector_and_template(spec, "deployment")
    yield from _invalid_strategy(spec["strategy"])
    yield from negative(spec, "spec", "minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds")
    deadline = spec.get("progressDeadlineSeconds")
    if deadline is not None and deadline <= spec.get("minReadySeconds", 0):
        yield invalid("spec.progressDeadlineSeconds", deadline, "must be greater than minReadySeconds")
    if old is not None:
        yield from immutable("spec.selector", spec.get("selector"), old["spec"].get("selector"))
        yield from _invalid_counts(deployment.get("status") or {})


def _invalid_counts(status: Object) -> Iterator[Cause]:
    """Pods counted in a smaller circle cannot be more than those of the wider one."""
    names = ("replicas", "updatedReplicas", "readyReplicas", "availableReplicas", "unavailableReplicas")
    yield from negative(status, "status", *names)
    for name, within in (
        ("updatedReplicas", "replicas"), ("readyReplicas", "replicas"), ("availableReplicas", "replicas"),
        ("availableReplicas", "readyReplicas"),
    ):  # fmt: skip
        if (found := status.get(name, 0)) > status.get(within, 0):
            why = "cannot be greater than " + ("status.replicas" if within == "replicas" else within)
            yield invalid(f"status.{name}", found, why)


def invalid_replica_set(replica_set: Object, old: Object | None) -> Iterator[Cause]:
    """Causes for a ReplicaSet that has its defaults."""
    spec = replica_set["spec"]
    yield from negative(spec, "spec", "replicas", "minReadySeconds")
    # The server says "deployment" here, too.
    yield from _invalid_selector_and_template(spec, "deployment")
    if old is not None:
        yield from immutable("spec.selector", spec.get("selector"), old["spec"].get("selector"))


def invalid_stateful_set(stateful_set: Object, old: Object | None) -> Iterator[Cause]:
    """Causes for a StatefulSet that has its defaults."""
    spec = stateful_set["spec"]
    policy = spec["podManagementPolicy"]
    if policy not in ("OrderedReady", "Parallel"):
        yield invalid("spec.podManagementPolicy", policy, "must be 'OrderedReady' or 'Parallel'")
    yield from _invalid_update_strategy(spec["updateStrategy"])
    yield from negative(spec, "spec", "replicas", "minReadySeconds")
    yield from negative(spec.get("ordinals") or {}, "spec.ordinals", "start")
    if (name := spec.get("serviceName", "")) and old is None:
        yield from invalid_each("spec.serviceName", name, label_errors(name))
    yield from _invalid_selector_and_template(spec, "statefulset")
    if old is not None and _fixed(spec) != _fixed(old["spec"]):
        *named, last = (f"'{each}'" for each in MUTABLE)
        fields = f"fields other than {', '.join(named)} and {last}"
        yield forbidden("spec", f"updates to statefulset spec for {fields} are forbidden")


def _fixed(spec: Object) -> Object:
    return {name: value for name, value in spec.items() if name not in MUTABLE}


def _invalid_selector_and_template(spec: Object, kind: str) -> Iterator[Cause]:
    selector, template = spec.get("selector"), spec["template"]
    usable = selector is not None
    if selector is None:
        yield required("spec.selector")
    else:
        malformed = list(_invalid_selector(selector, "spec.selector"))
        yield from malformed
        if malformed:
            yield invalid("spec.selector", selector, "invalid label selector")
        elif not selector.get("matchLabels") and not selector.get("matchExpressions"):
            yield invalid("spec.selector", selector, f"empty selector is invalid for {kind}")
        usable = not malformed
    labels = template["metadata"].get("labels") or {}
    if selector is None or (usable and not chooses(selector, labels)):
        why = "`selector` does not match template `labels`"
        yield invalid("spec.template.metadata.labels", labels or None, why)
    yield from invalid_labels(labels, "spec.template.labels")
    yield from invalid_pod_spec(template["spec"], "spec.template.spec")
    if template["spec"]["restartPolicy"] != "Always":
        found = template["spec"]["restartPolicy"]
        yield not_supported("spec.template.spec.restartPolicy", found, ("Always",))


def _invalid_selector(selector: Object, path: str) -> Iterator[Cause]:
    yield from invalid_labels(selector.get("matchLabels") or {}, f"{path}.matchLabels")
    for index, expression in enumerate(selector.get("matchExpressions") or ()):
        where = f"{path}.matchExpressions[{index}]"
        operator, values = expression["operator"], expression.get("values") or []
        if operator in ("In", "NotIn") and not values:
            yield required(f"{where}.values", "must be specified when `operator` is 'In' or 'NotIn'")
        elif operator in ("Exists", "DoesNotExist") and values:
            why = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            yield forbidden(f"{where}.values", why)
        elif operator not in OPERATORS:
            yield invalid(f"{where}.operator", operator, "not a valid selector operator")
        yield from invalid_each(f"{where}.key", expression["key"], qualified_name_errors(expression["key"]))
        for place, value in enumerate(values):
            yield from invalid_each(f"{where}.values[{place}]", value, label_value_errors(value))


def _invalid_strategy(strategy: Object) -> Iterator[Cause]:
    kind, rolling = strategy["type"], strategy.get("rollingUpdate")
    if kind == "Recreate" and rolling is not None:
        why = "may not be specified when strategy `type` is 'Recreate'"
        yield forbidden("spec.strategy.rollingUpdate", why)
    elif kind == "RollingUpdate" and rolling is not None:
        path = "spec.strategy.rollingUpdate"
        surge, unavailable = rolling["maxSurge"], rolling["maxUnavailable"]
        yield from _invalid_share(f"{path}.maxUnavailable", unavailable)
        yield from _invalid_share(f"{path}.maxSurge", surge)
        if surge in (0, "0%") and unavailable in (0, "0%"):
            yield invalid(f"{path}.maxUnavailable", unavailable, "may not be 0 when `maxSurge` is 0")
        if re.fullmatch("[0-9]+%", str(unavailable)) and int(unavailable[:-1]) > 100:
            yield invalid(f"{path}.maxUnavailable", unavailable, "must not be greater than 100%")
    elif kind not in ("Recreate", "RollingUpdate"):
        shown = {"Type": kind, "RollingUpdate": rolling}
        yield not_supported("spec.strategy", shown, ("Recreate", "RollingUpdate"))


def _invalid_share(path: str, share: Any) -> Iterator[Cause]:
    if isinstance(share, int):
        if share < 0:
            yield invalid(path, share, "must be greater than or equal to 0")
    elif not re.fullmatch("[0-9]+%", share):
        why = (
            "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', "
            "regex used for validation is '[0-9]+%')"
        )
        yield invalid(path, share, why)


def _invalid_update_strategy(strategy: Object) -> Iterator[Cause]:
    kind, rolling = strategy["type"], strategy.get("rollingUpdate")
    if kind == "OnDelete" and rolling is not None:
        shown = {"Partition": rolling.get("partition", 0), "MaxUnavailable": rolling.get("maxUnavailable")}
        why = "only allowed for updateStrategy 'RollingUpdate'"
        yield invalid("spec.updateStrategy.rollingUpdate", shown, why)
    elif kind == "RollingUpdate":
        yield from negative(rolling or {}, "spec.updateStrategy.rollingUpdate", "partition")
    elif kind != "OnDelete":
        shown = {"Type": kind, "RollingUpdate": rolling}
        yield invalid("spec.updateStrategy", shown, "must be 'RollingUpdate' or 'OnDelete'")
