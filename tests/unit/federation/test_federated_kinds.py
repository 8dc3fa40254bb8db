"""What `mcs enable` defines: the federated kind and the configuration of its type, and what may be in the way."""

from __future__ import annotations

import copy
from typing import Any

import msgspec
import pytest

from mcs.federation.definitions import (
    REVISION_LABEL,
    federated_api,
    federated_definition,
    type_config,
    type_problem,
    verdict_on,
)
from mcs.model.discovery import ServedKind
from mcs.model.federated import (
    TARGET_VERBS,
    FederatedObject,
    FederatedTypeConfig,
    federated_resource,
    target_resource,
)

DEPLOYMENTS = ServedKind(
    group="apps", version="v1", kind="Deployment", plural="deployments", singular="deployment",
    short_names=("deploy",), namespaced=True, verbs=frozenset(TARGET_VERBS),
)  # fmt: skip
NAMESPACES = ServedKind(
    group="", version="v1", kind="Namespace", plural="namespaces", short_names=("ns",), namespaced=False,
    verbs=frozenset(TARGET_VERBS),
)  # fmt: skip
GATEWAYS = ServedKind(
    group="gateway.test", version="v1", kind="Gateway", plural="gateways", namespaced=True,
    verbs=frozenset(TARGET_VERBS),
)  # fmt: skip


def defined(target: ServedKind, *, has_replicas: bool = False) -> dict[str, Any]:
    return federated_definition(target, federated_api(target), has_replicas=has_replicas)


def schema_of(definition: dict[str, Any]) -> dict[str, Any]:
    (version,) = definition["spec"]["versions"]
    found: dict[str, Any] = version["schema"]["openAPIV3Schema"]["properties"]
    return found


def config(target: ServedKind, **changes: Any) -> FederatedTypeConfig:
    document = type_config(target, federated_api(target, **changes), "system")
    return msgspec.convert(document, FederatedTypeConfig)


@pytest.mark.parametrize(
    ("target", "names", "scope"),
    [
        (
            DEPLOYMENTS,
            {"kind": "FederatedDeployment", "listKind": "FederatedDeploymentList",
             "plural": "federateddeployments", "singular": "federateddeployment", "shortNames": ["fdeploy"]},
            "Namespaced",
        ),
        (
            NAMESPACES,
            {"kind": "FederatedNamespace", "listKind": "FederatedNamespaceList",
             "plural": "federatednamespaces", "singular": "federatednamespace", "shortNames": ["fns"]},
            "Namespaced",
        ),
        (
            ServedKind(group="", version="v1", kind="Node", plural="nodes", namespaced=False),
            {"kind": "FederatedNode", "listKind": "FederatedNodeList", "plural": "federatednodes",
             "singular": "federatednode"},
            "Cluster",
        ),
        (
            GATEWAYS,
            {"kind": "FederatedGateway", "listKind": "FederatedGatewayList", "plural": "federatedgateways",
             "singular": "federatedgateway"},
            "Namespaced",
        ),
    ],
    ids=["a workload", "the namespace, whose wrapper is in it", "of cluster scope", "a plural that nobody guesses"],
)  # fmt: skip
def test_names_and_scope_are_those_of_the_target(
    target: ServedKind, names: dict[str, Any], scope: str
) -> None:
    definition = defined(target)
    assert definition["metadata"]["name"] == f"{names['plural']}.types.kubefed.io"
    assert (definition["spec"]["names"], definition["spec"]["scope"]) == (names, scope)


@pytest.mark.parametrize("target", [DEPLOYMENTS, NAMESPACES, GATEWAYS], ids=lambda each: each.plural)
def test_a_type_configuration_names_the_target_and_what_is_defined(target: ServedKind) -> None:
    definition, made = defined(target), config(target)
    assert (made.metadata.name, made.metadata.namespace, made.is_enabled) == (target.name, "system", True)
    federated = federated_resource(made)
    assert f"{federated.plural}.{federated.group}" == definition["metadata"]["name"]
    assert federated.namespaced == (definition["spec"]["scope"] == "Namespaced")
    there = target_resource(made)
    assert (there.group, there.version, there.plural, there.kind, there.namespaced) == (
        target.group, target.version, target.plural, target.kind, target.namespaced,
    )  # fmt: skip


def fields_of(type_: msgspec.inspect.Type) -> Any:
    match type_:
        case msgspec.inspect.StructType():
            return {each.encode_name: fields_of(each.type) for each in type_.fields}
        case msgspec.inspect.VarTupleType():
            return [fields_of(type_.item_type)]
        case msgspec.inspect.UnionType():
            return next(
                fields_of(each) for each in type_.types if not isinstance(each, msgspec.inspect.NoneType)
            )
    return ""


def properties_of(schema: dict[str, Any]) -> Any:
    if "properties" in schema:
        return {name: properties_of(each) for name, each in schema["properties"].items()}
    return [properties_of(schema["items"])] if "items" in schema else ""


def test_the_schema_has_the_fields_that_are_read_and_written_and_no_others() -> None:
    read = fields_of(msgspec.inspect.type_info(FederatedObject))
    schema = schema_of(defined(DEPLOYMENTS, has_replicas=True))
    assert {part: properties_of(schema[part]) for part in ("spec", "status")} == {
        part: read[part] for part in ("spec", "status")
    }


def test_replicas_are_retained_only_where_there_are_any() -> None:
    assert "retainReplicas" in schema_of(defined(DEPLOYMENTS, has_replicas=True))["spec"]["properties"]
    without = defined(DEPLOYMENTS)
    assert "retainReplicas" not in schema_of(without)["spec"]["properties"]
    (version,) = without["spec"]["versions"]
    assert [each["name"] for each in version["additionalPrinterColumns"]] == [
        "propagated", "reason", "percent", "age",
    ]  # fmt: skip


ELSEWHERE = msgspec.structs.replace(GATEWAYS, group="other.test")
KNATIVE = msgspec.structs.replace(GATEWAYS, kind="Gate", group="knative.test")


@pytest.mark.parametrize(
    ("target", "group", "present", "told"),
    [
        (GATEWAYS, "types.kubefed.io", [config(DEPLOYMENTS), config(GATEWAYS)], ""),
        (
            msgspec.structs.replace(GATEWAYS, group="types.kubefed.io"), "types.kubefed.io", [],
            "gateways.types.kubefed.io is of federation itself",
        ),
        (
            msgspec.structs.replace(GATEWAYS, verbs=frozenset({"get", "create"})), "types.kubefed.io", [],
            "does not offer to list, watch, patch, delete it",
        ),
        (GATEWAYS, "types", [], "the group 'types' of a federated kind needs a dot"),
        (
            GATEWAYS, "other.kubefed.io", [config(GATEWAYS)],
            "is federated as federatedgateways.types.kubefed.io already; disable it first, or give --federated-group",
        ),
        (GATEWAYS, "types.kubefed.io", [config(ELSEWHERE)], "as that of gateways.other.test; disable"),
        (KNATIVE, "types.kubefed.io", [config(GATEWAYS)], "is the federated kind of gateways.gateway.test; give"),
        (KNATIVE, "other.kubefed.io", [config(GATEWAYS)], ""),
    ],
    ids=["others, and itself, are not in the way", "a federated kind", "without the verbs", "a group without a dot",
         "federated in another group", "the same kind of another group", "the same plural of another group",
         "the same plural in another group of federated kinds"],
)  # fmt: skip
def test_what_is_in_the_way_of_a_type(
    target: ServedKind, group: str, present: list[FederatedTypeConfig], told: str
) -> None:
    problem = type_problem(target, federated_api(target, group), present)
    assert told in problem
    assert bool(told) == bool(problem)


def kubefeds() -> dict[str, Any]:
    """As kubefedctl would have defined it: not ours, and without what we have added."""
    definition = copy.deepcopy(defined(DEPLOYMENTS))
    del definition["metadata"]["labels"]
    del schema_of(definition)["status"]["properties"]["workload"]
    return definition


def changed(**changes: Any) -> dict[str, Any]:
    definition = copy.deepcopy(defined(DEPLOYMENTS))
    definition["metadata"]["labels"] = changes.pop("labels", definition["metadata"]["labels"])
    if changes.pop("bare", False):
        schema_of(definition)["spec"]["properties"] = {}
    if older := changes.pop("another_version", ""):
        definition["spec"]["versions"].append({"name": older, "served": True, "storage": False})
    definition["spec"] |= changes
    return definition


NEWER = {"app.kubernetes.io/managed-by": "mcs-controller", REVISION_LABEL: "9"}
OTHERS = {"app.kubernetes.io/managed-by": "Helm"}


@pytest.mark.parametrize(
    ("present", "action", "told"),
    [
        (None, "create", ""),
        (defined(DEPLOYMENTS), "keep", ""),
        ({**defined(DEPLOYMENTS), "status": {"storedVersions": ["v1beta1"]}}, "keep", ""),
        (defined(DEPLOYMENTS, has_replicas=True), "keep", ""),
        (changed(bare=True), "replace", ""),
        (kubefeds(), "replace", "is KubeFed's; what it lacked was added"),
        (changed(labels=OTHERS, bare=True), "refuse", "of somebody else"),
        (changed(labels={}, names={"kind": "FederatedRocket"}), "refuse", "of somebody else"),
        (changed(scope="Cluster"), "refuse", "has another scope"),
        (changed(labels=NEWER, bare=True), "keep", "is newer and was left"),
        (changed(another_version="v1alpha1"), "refuse", "the versions v1alpha1 besides"),
    ],
    ids=["absent", "the same", "as a server returns it", "with more than that", "with less", "KubeFed's",
         "no federated kind", "another kind", "another scope", "a newer one of ours", "with a version that ours lacks"],
)  # fmt: skip
def test_what_is_not_ours_or_newer_is_not_overwritten(
    present: dict[str, Any] | None, action: str, told: str
) -> None:
    verdict = verdict_on(defined(DEPLOYMENTS), present)
    assert (verdict.action, bool(verdict.remark)) == (action, bool(told))
    assert told in verdict.remark
