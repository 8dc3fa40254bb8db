"""What an API server does with a decoded request, for HTTP and for in-process controllers alike.

Every method is one synchronous transaction on the `Store`. Objects go in and out in the stored version
of their resource; other versions, Tables and selectors belong to the HTTP side. Refusals are
`StatusError`.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Literal

from mcs.sandbox.apply import managed
from mcs.sandbox.apply.admonitions import admonitions
from mcs.sandbox.apply.merge import PatchError
from mcs.sandbox.apply.schemas import ANY
from mcs.sandbox.errors import (
    already_exists,
    apply_conflict,
    bad_request,
    conflict,
    forbidden,
    internal,
    invalid,
    namespace_terminating,
    not_found,
    version_required,
)
from mcs.sandbox.resources import NAMESPACES, Registry, ResourceType
from mcs.sandbox.rules import strategies
from mcs.sandbox.rules.deletion import IMMORTAL_NAMESPACES, DeleteOptions, marked_for_deletion, without_grace
from mcs.sandbox.rules.fields import (
    FieldValidation,
    Refuse,
    Warn,
    cannot_be_handled,
    decoded,
    invalid_in,
    no_warning,
    schema_for,
    seen_through,
)
from mcs.sandbox.rules.meta import (
    check_identity,
    failed_precondition,
    invalid_metadata_change,
    invalid_name,
    metadata_for_create,
    metadata_for_update,
)
from mcs.sandbox.rules.patches import refused_patch
from mcs.sandbox.store import Object, Objects, Store, key_of

Operation = Literal["CREATE", "UPDATE", "DELETE"]
Hook = Callable[[Operation, ResourceType, Object | None, Object | None], Object | None]
"""(operation, resource, old, new) -> the object to store.

Runs before validation and has no effect of its own: a dry run calls it too. `new` is None for DELETE, whose
result is ignored. It may raise `StatusError`.
"""
AfterWrite = Callable[[Operation, ResourceType, Object], None]
"""Called after a change is stored, with its last state; it may write in turn."""


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """What a write is asked for besides its object.

    `version` is that of the object, default the stored one.
    """

    manager: str = "sandbox"
    dry_run: bool = False
    force: bool = False
    field_validation: FieldValidation = FieldValidation.WARN
    warn: Warn = no_warning
    version: str = ""
    doubled_fields: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Deleted:
    """The last state of the object, and whether it is gone (or waits for its finalizers or its kubelet)."""

    obj: Object
    gone: bool


DEFAULTS = WriteOptions()
DELETE_DEFAULTS = DeleteOptions()


class Api:
    """One cluster: a store, the resources it serves, and the rules between them.

    `hooks` take part in each write; `after_write` see its result.
    """

    def __init__(
        self,
        store: Store | None = None,
        *,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        chance: random.Random | None = None,
    ) -> None:
        self.store = store or Store()
        self.registry = Registry()
        self.hooks: list[Hook] = []
        self.after_write: list[AfterWrite] = []
        self.now = now
        self._chance = chance or random.Random()

    def get(self, resource: ResourceType, namespace: str, name: str) -> Object:
        """The object; raises NotFound."""
        found = self.store.get(resource, namespace, name)
        if found is None:
            raise not_found(resource, name)
        return found

    def list(self, resource: ResourceType, namespace: str | None = None) -> Objects:
        """All objects, or those of one namespace."""
        return self.store.list(resource, namespace)

    def create(
        self, resource: ResourceType, obj: Object, *, namespace: str = "", options: WriteOptions = DEFAULTS
    ) -> Object:
        """The stored object; raises BadRequest, AlreadyExists, Invalid, Forbidden or NotFound (namespace)."""
        obj = check_identity(resource, obj, namespace or _own_namespace(resource, obj))
        if obj["metadata"].get("resourceVersion"):
            raise internal("resourceVersion should not be set on objects to be created")
        obj = metadata_for_create(obj, self.now(), self._chance)
        obj["metadata"].pop("managedFields", None)
        obj = self._decoded(resource, obj, options, cannot_be_handled(resource, _version(resource, options)))
        obj = strategies.settable_at_creation(resource, obj)
        return self._insert(resource, self._owned(resource, None, obj, "", options), options)

    def update(
        self, resource: ResourceType, obj: Object, *, subresource: str = "", options: WriteOptions = DEFAULTS
    ) -> Object:
        """The stored object; raises NotFound, Conflict, Invalid or BadRequest.

        `subresource` is status or finalize. Without a resourceVersion the update is unconditional where
        the kind allows that.
        """
        metadata = obj.get("metadata") or {}
        namespace, name = _own_namespace(resource, obj), metadata.get("name", "")
        old = self.store.get(resource, namespace, name)
        if old is None:
            if not strategies.creates_on_update(resource) or subresource or metadata.get("uid"):
                raise not_found(resource, name)
            return self.create(resource, obj, namespace=namespace, options=options)
        obj = check_identity(resource, obj, namespace, name)
        _check_uid(resource, old, obj)
        if not obj["metadata"].get("resourceVersion") and strategies.updates_need_a_version(resource):
            raise version_required(resource, name)
        _check_version(resource, old, obj)
        refuse = cannot_be_handled(resource, _version(resource, options))
        obj = self._decoded(resource, obj, options, refuse)
        return self._replace(resource, old, obj, subresource, options)

    def update_status(
        self, resource: ResourceType, obj: Object, *, options: WriteOptions = DEFAULTS
    ) -> Object:
        """As `update`, of the status alone."""
        return self.update(resource, obj, subresource="status", options=options)

    def patch(
        self,
        resource: ResourceType,
        namespace: str,
        name: str,
        change: Callable[[Object], Object],
        *,
        subresource: str = "",
        options: WriteOptions = DEFAULTS,
        refuse: Callable[[Object], Refuse] | None = None,
    ) -> Object:
        """The object after `change` of its present state (in the asked version), in one transaction."""
        old = self.get(resource, namespace, name)
        version = _version(resource, options)
        new = change(seen_through(resource, version, old))
        _check_version(resource, old, new)
        new = check_identity(resource, new, namespace, name)
        how_refused = refuse(new) if refuse else cannot_be_handled(resource, version)
        if new.get("kind", resource.kind) != resource.kind:
            raise how_refused(f'"{new["kind"]}" is not the kind of this resource')
        new = self._decoded(resource, new, options, how_refused)
        return self._replace(resource, old, new, subresource, options)

    def apply(
        self,
        resource: ResourceType,
        config: Object,
        *,
        namespace: str = "",
        subresource: str = "",
        options: WriteOptions = DEFAULTS,
    ) -> Object:
        """The object after a server-side apply, which creates what is missing.

        Raises Conflict with one cause for each field of another manager, besides what `update` raises.
        """
        metadata = config.get("metadata") or {}
        name = metadata.get("name", "")
        namespace = namespace or _own_namespace(resource, config)
        check_identity(resource, config, namespace, name)
        live = self.store.get(resource, namespace, name)
        if live is None and subresource and not strategies.creates_on_update(resource):
            raise not_found(resource, name)
        result = self._applied(resource, live, config, subresource, options)
        quiet = replace(options, field_validation=FieldValidation.IGNORE)
        result = self._decoded(resource, result, quiet, bad_request)
        result = check_identity(resource, result, namespace, name)
        if live is not None:
            if metadata.get("resourceVersion"):
                _check_version(resource, live, config)
            return self._change(resource, live, result, subresource, options)
        if metadata.get("uid"):
            told = f"uid mismatch: the provided object specified uid {metadata['uid']}, "
            raise conflict(resource, name, told + "and no existing object was found")
        return self._insert(resource, metadata_for_create(result, self.now(), self._chance), options)

    def delete(
        self, resource: ResourceType, namespace: str, name: str, options: DeleteOptions = DELETE_DEFAULTS
    ) -> Deleted:
        """Delete, or mark for deletion what finalizers or a node still hold; raises NotFound or Conflict."""
        old = self.get(resource, namespace, name)
        if (failed := failed_precondition(resource, old, options.preconditions)) is not None:
            raise failed
        if resource is NAMESPACES and name in IMMORTAL_NAMESPACES:
            raise forbidden(resource, name, "this namespace may not be deleted")
        for hook in self.hooks:
            hook("DELETE", resource, old, None)
        marked = marked_for_deletion(resource, old, options, self.now())
        if marked is None:
            return Deleted(without_grace(self._remove(resource, old, options.dry_run)), gone=True)
        if marked is not old and not options.dry_run:
            marked = self._put("UPDATE", resource, marked)
        return Deleted(marked, gone=False)

    def _decoded(self, resource: ResourceType, obj: Object, options: WriteOptions, refuse: Refuse) -> Object:
        how, version = options.field_validation, _version(resource, options)
        obj = decoded(resource, version, obj, how, options.warn, refuse, options.doubled_fields)
        return {**obj, "apiVersion": resource.api_version_of(version), "kind": resource.kind}

    def _owned(
        self, resource: ResourceType, old: Object | None, new: Object, subresource: str, options: WriteOptions
    ) -> Object:
        version = _version(resource, options)
        schema = schema_for(resource, version)
        if schema is None:
            return new
        if old is not None:
            old = seen_through(resource, version, old)
        return managed.record_update(
            old, new, manager=options.manager, schema=schema, now=self.now(), subresource=subresource
        )

    def _applied(
        self,
        resource: ResourceType,
        live: Object | None,
        config: Object,
        subresource: str,
        options: WriteOptions,
    ) -> Object:
        version = _version(resource, options)
        schema = schema_for(resource, version) or ANY
        if live is not None:
            live = seen_through(resource, version, live)
        try:
            return managed.apply_patch(
                live,
                config,
                manager=options.manager,
                force=options.force,
                schema=schema,
                now=self.now(),
                subresource=subresource,
            )
        except managed.ApplyConflict as error:
            raise apply_conflict(str(error), error.causes) from error
        except PatchError as error:
            raise refused_patch(error) from error

    def _insert(self, resource: ResourceType, obj: Object, options: WriteOptions) -> Object:
        name = obj["metadata"].get("name", "")
        if resource.namespaced:
            self._check_namespace(resource, obj["metadata"]["namespace"], name)
        obj = strategies.prepared_for_create(resource, {**obj, "apiVersion": resource.api_version})
        obj = self._admitted("CREATE", resource, None, obj)
        causes = [*invalid_name(resource, name), *invalid_in(resource, obj, None)]
        if causes:
            raise invalid(resource, name, causes)
        _admonish(resource, obj, options)
        if self.store.get(resource, obj["metadata"].get("namespace", ""), name) is not None:
            raise already_exists(resource, name)
        return obj if options.dry_run else self._put("CREATE", resource, obj)

    def _replace(
        self, resource: ResourceType, old: Object, new: Object, subresource: str, options: WriteOptions
    ) -> Object:
        new = strategies.prepared_for_update(resource, old, metadata_for_update(old, new), subresource)
        new = self._owned(resource, old, new, subresource, options)
        return self._change(resource, old, new, subresource, options)

    def _change(
        self, resource: ResourceType, old: Object, new: Object, subresource: str, options: WriteOptions
    ) -> Object:
        name = old["metadata"]["name"]
        new = metadata_for_update(old, {**new, "apiVersion": resource.api_version})
        new = strategies.prepared_for_update(resource, old, new, subresource)
        new = self._admitted("UPDATE", resource, old, new)
        causes = [*invalid_metadata_change(resource, old, new), *invalid_in(resource, new, old, subresource)]
        if causes:
            raise invalid(resource, name, causes)
        _admonish(resource, new, options)
        if strategies.means_the_same(old, new):
            return old
        if strategies.is_finished(new):
            self._remove(resource, old, options.dry_run)
            return new
        return new if options.dry_run else self._put("UPDATE", resource, new)

    def _admitted(
        self, operation: Operation, resource: ResourceType, old: Object | None, new: Object
    ) -> Object:
        for hook in self.hooks:
            new = hook(operation, resource, old, new) or new
        return new

    def _check_namespace(self, resource: ResourceType, namespace: str, name: str) -> None:
        found = self.store.get(NAMESPACES, "", namespace)
        if found is None:
            raise not_found(NAMESPACES, namespace)
        if "deletionTimestamp" in found["metadata"]:
            raise namespace_terminating(resource, name, namespace)

    def _put(self, operation: Operation, resource: ResourceType, obj: Object) -> Object:
        stored = self.store.put(resource, obj)
        for see in self.after_write:
            see(operation, resource, stored)
        return stored

    def _remove(self, resource: ResourceType, old: Object, dry_run: bool) -> Object:
        if dry_run:
            return old
        last = self.store.remove(resource, *key_of(old)) or old
        for see in self.after_write:
            see("DELETE", resource, last)
        return last


def _own_namespace(resource: ResourceType, obj: Object) -> str:
    return (obj.get("metadata") or {}).get("namespace", "") if resource.namespaced else ""


def _admonish(resource: ResourceType, obj: Object, options: WriteOptions) -> None:
    if not resource.custom:
        for sentence in admonitions(resource.group, resource.kind, obj):
            options.warn(sentence)


def _version(resource: ResourceType, options: WriteOptions) -> str:
    return options.version or resource.version


def _check_uid(resource: ResourceType, old: Object, new: Object) -> None:
    asked, found, (namespace, name) = new["metadata"].get("uid"), old["metadata"]["uid"], key_of(old)
    if asked and asked != found:
        key = "/".join(part for part in ("/registry", resource.plural, namespace, name) if part)
        told = f"Precondition failed: UID in precondition: {asked}, UID in object meta: {found}"
        stored = (
            f"StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: "
        )
        raise conflict(resource, name, stored + told)


def _check_version(resource: ResourceType, old: Object, new: Object) -> None:
    asked = new["metadata"].get("resourceVersion")
    if asked and asked != old["metadata"]["resourceVersion"]:
        raise conflict(resource, old["metadata"]["name"])
