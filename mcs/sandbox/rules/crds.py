"""CustomResourceDefinitions at work: their resources are served, their conditions set, their objects cleaned up.

Source: Kubernetes, "Create a CustomResourceDefinition"; "Versions in CustomResourceDefinitions"
(conversion None). Objects against schemas are the business of `openapi_schema`.
"""

from typing import Any

from mcs.sandbox.api import Api, Operation, WriteOptions
from mcs.sandbox.errors import forbidden, invalid
from mcs.sandbox.resources import CRDS, CUSTOM_VERBS, PrinterColumn, ResourceType, version_priority
from mcs.sandbox.rules.definition_rules import invalid_definition
from mcs.sandbox.rules.deletion import CLEANUP
from mcs.sandbox.rules.meta import timestamp
from mcs.sandbox.store import Object

_SERVER = WriteOptions(manager="kube-apiserver")


def resource_of(crd: Object) -> ResourceType:
    """The resource type that a CRD defines."""
    spec = crd["spec"]
    names = spec["names"]
    versions = [version for version in spec["versions"] if version.get("served")]
    stored = next((v for v in spec["versions"] if v.get("storage")), spec["versions"][0])
    subresources = stored.get("subresources") or {}
    return ResourceType(
        group=spec["group"],
        version=stored["name"],
        plural=names["plural"],
        singular=names.get("singular") or names["kind"].lower(),
        kind=names["kind"],
        namespaced=spec.get("scope") == "Namespaced",
        short_names=tuple(names.get("shortNames") or ()),
        categories=tuple(names.get("categories") or ()),
        verbs=CUSTOM_VERBS,
        subresources=tuple(sorted(subresources)),
        has_generation=True,
        list_kind=names.get("listKind") or f"{names['kind']}List",
        versions=tuple(sorted((v["name"] for v in versions), key=version_priority)),
        custom=True,
        schemas={v["name"]: (v.get("schema") or {}).get("openAPIV3Schema") or {} for v in spec["versions"]},
        printer_columns={
            v["name"]: tuple(_column(column) for column in v["additionalPrinterColumns"])
            for v in versions
            if v.get("additionalPrinterColumns")
        },
        scale_paths={v["name"]: v["subresources"]["scale"] for v in versions if _scales(v)},
        deprecation_warnings={v["name"]: _deprecation(crd, v) for v in versions if v.get("deprecated")},
    )


def _scales(version: dict[str, Any]) -> bool:
    return "scale" in (version.get("subresources") or {})


def _column(column: dict[str, Any]) -> PrinterColumn:
    return PrinterColumn(
        name=column["name"],
        type=column["type"],
        json_path=column["jsonPath"],
        description=column.get("description", ""),
        format=column.get("format", ""),
        priority=column.get("priority", 0),
    )


def _deprecation(crd: Object, version: dict[str, Any]) -> str:
    named = f"{crd['spec']['group']}/{version['name']} {crd['spec']['names']['kind']}"
    return version.get("deprecationWarning") or f"{named} is deprecated"


class CustomResources:
    """Keeps an `Api` serving what its CRDs define; `install` it once."""

    def __init__(self, api: Api) -> None:
        self._api = api

    def install(self) -> None:
        """Follow every write from now on; CRDs already stored are served at once."""
        for crd in self._api.list(CRDS):
            self._api.registry.add(resource_of(crd))
        self._api.hooks.append(self._admit)
        self._api.after_write.append(self._follow)

    def _admit(
        self, operation: Operation, resource: ResourceType, old: Object | None, new: Object | None
    ) -> Object | None:
        if resource.custom and operation == "CREATE" and new is not None:
            self._check_not_terminating(resource, new)
        if resource is not CRDS or new is None:
            return None
        if causes := invalid_definition(new, old):
            raise invalid(CRDS, new["metadata"].get("name", ""), causes)
        stored = [v["name"] for v in new["spec"]["versions"] if v.get("storage")]
        if operation == "CREATE":
            none = {"kind": "", "plural": ""}
            return {
                **new,
                "status": {"acceptedNames": none, "conditions": None, "storedVersions": stored},
            }
        status = new.get("status") or {}
        known = status.get("storedVersions") or []
        added = [version for version in stored if version not in known]
        return {**new, "status": {**status, "storedVersions": known + added}} if added else None

    def _follow(self, operation: Operation, resource: ResourceType, obj: Object) -> None:
        if resource.custom:
            if operation == "DELETE":
                self._finish(f"{resource.plural}.{resource.group}")
        elif resource is CRDS:
            self._follow_definition(operation, obj)

    def _follow_definition(self, operation: Operation, crd: Object) -> None:
        if operation == "DELETE":
            self._api.registry.drop(crd["spec"]["group"], crd["spec"]["names"]["plural"])
            return
        defined = resource_of(crd)
        self._api.registry.add(defined)
        if "deletionTimestamp" in crd["metadata"]:
            if CLEANUP in crd["metadata"].get("finalizers", []) and not _is_terminating(crd):
                self._api.update_status(CRDS, self._terminating(crd), options=_SERVER)
                for obj in self._api.list(defined):
                    metadata = obj["metadata"]
                    if "deletionTimestamp" not in metadata:
                        self._api.delete(defined, metadata.get("namespace", ""), metadata["name"])
                self._finish(crd["metadata"]["name"])
            return
        if not _is_established(crd):
            status = {**crd["status"], **self._accepted(crd)}
            self._api.update_status(CRDS, {**crd, "status": status}, options=_SERVER)

    def _check_not_terminating(self, resource: ResourceType, new: Object) -> None:
        crd = self._api.store.get(CRDS, "", f"{resource.plural}.{resource.group}")
        if crd is not None and "deletionTimestamp" in crd["metadata"]:
            why = "create not allowed while custom resource definition is terminating"
            raise forbidden(resource, new["metadata"].get("name", ""), why)

    def _terminating(self, crd: Object) -> Object:
        condition = {
            "type": "Terminating", "status": "True", "reason": "InstanceDeletionInProgress",
            "message": "CustomResource deletion is in progress",
            "lastTransitionTime": timestamp(self._api.now()),
        }  # fmt: skip
        conditions = [*(crd["status"].get("conditions") or ()), condition]
        return {**crd, "status": {**crd["status"], "conditions": conditions}}

    def _accepted(self, crd: Object) -> Object:
        now = timestamp(self._api.now())
        names = {"singular": crd["spec"]["names"]["kind"].lower(), **crd["spec"]["names"]}
        conditions = [
            {
                "type": kind, "status": "True", "reason": reason, "message": message,
                "lastTransitionTime": now,
            }
            for kind, reason, message in (
                ("NamesAccepted", "NoConflicts", "no conflicts found"),
                ("Established", "InitialNamesAccepted", "the initial names have been accepted"),
            )
        ]  # fmt: skip
        return {"acceptedNames": names, "conditions": conditions}

    def _finish(self, name: str) -> None:
        crd = self._api.store.get(CRDS, "", name)
        if crd is None or "deletionTimestamp" not in crd["metadata"] or self._api.list(resource_of(crd)):
            return
        metadata = crd["metadata"]
        finalizers = [f for f in metadata.get("finalizers", []) if f != CLEANUP]
        if finalizers != metadata.get("finalizers", []):
            changed = {**crd, "metadata": {**metadata, "finalizers": finalizers}}
            self._api.update(CRDS, changed, options=_SERVER)


def _is_established(crd: Object) -> bool:
    return _has_condition(crd, "Established")


def _is_terminating(crd: Object) -> bool:
    return _has_condition(crd, "Terminating")


def _has_condition(crd: Object, kind: str) -> bool:
    conditions = (crd.get("status") or {}).get("conditions") or []
    return any(c["type"] == kind and c["status"] == "True" for c in conditions)
