"""What the API server knows about the shape of each kind: fields, list keys and merge strategies.

The built-in kinds come from compact tables (`schema_tables_*`), custom kinds from the OpenAPI schema of their
CustomResourceDefinition. Deciding who owns a field, merging and pruning are left to the neighbours.

Notation of the tables: `Type: type-of-fields field field; type-of-fields field`, or one indented line per
type of fields. A type of fields is `string`, `time`, `int`, `number`, `bool`, `quantity`, `intstr`, `any`
(unknown shape) or the name of a type; `{T}` is a map of T, `[T]` a list, `!` after a type or map makes it
atomic. A list is atomic unless it is followed by `set` or by `keys(a,b=DEFAULT)`. `+` marks fields that
are stored even when nobody sets them (a struct as {}, a list as null), `?` scalars whose zero value is
stored when it is set; other empty values are dropped. `<merge:key>`, `<merge>`, `<retainKeys>` and
`<merge,retainKeys:key>` give the strategy of a strategic merge patch (Kubernetes, "Server-Side Apply",
"Merge strategy"; "Update API Objects in Place Using kubectl patch").
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, Literal, TypeAlias

from mcs.sandbox.apply import (
    schema_tables_apps,
    schema_tables_core,
    schema_tables_pod,
    schema_tables_rbac,
    schema_tables_volumes,
)

Object: TypeAlias = dict[str, Any]
FieldPath: TypeAlias = tuple[str, ...]

_EMPTY: Mapping[str, Any] = {}
_OPENAPI_SCALARS = {"string": "string", "boolean": "bool", "number": "number", "integer": "int"}
_SCALARS = ("string", "time", "int", "number", "bool", "quantity", "intstr")

KINDS: Mapping[str, tuple[str, ...]] = {
    "": (
        *(
            "Namespace",
            "Node",
            "Pod",
            "Service",
            "Endpoints",
            "ConfigMap",
            "Secret",
            "ServiceAccount",
            "Event",
        ),
        "PersistentVolumeClaim",
    ),
    "apps": ("Deployment", "ReplicaSet", "StatefulSet"),
    "autoscaling": ("Scale",),
    "discovery.k8s.io": ("EndpointSlice",),
    "coordination.k8s.io": ("Lease",),
    "apiextensions.k8s.io": ("CustomResourceDefinition",),
    "rbac.authorization.k8s.io": ("Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding"),
}
"""The built-in kinds that have a table, per API group."""

_STATUS = ("f:status",)
_SPEC = ("f:spec",)
_WITH_STATUS = {"": frozenset({_STATUS}), "status": frozenset({_SPEC})}
_RESETS: Mapping[str, Mapping[str, frozenset[FieldPath]]] = {
    **dict.fromkeys(("Namespace", "Node", "Service", "ReplicaSet", "StatefulSet"), _WITH_STATUS),
    "Deployment": {**_WITH_STATUS, "status": frozenset({_SPEC, ("f:metadata", "f:labels")})},
    "Pod": {
        **_WITH_STATUS,
        "status": frozenset(
            {_SPEC, ("f:metadata", "f:deletionTimestamp"), ("f:metadata", "f:ownerReferences")}
        ),
    },
    "CustomResourceDefinition": {**_WITH_STATUS, "status": frozenset({_SPEC, ("f:metadata",)})},
}


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Schema:
    """The shape of one node of an object.

    `kind` says how the node is walked: a `scalar` (named by `scalar`), a `struct` with named `fields`
    (further fields follow `element` when that is set), a `map` or `list` of `element`, or `any`, whose
    shape is deduced from the value (maps granular, lists atomic). `atomic` structs and maps are owned as
    a whole, as are lists of `list_type` atomic. `keys` identify the items of a list of `list_type` map;
    `key_defaults` stand in for keys an item leaves out. `strategies` and `merge_key` are those of
    strategic merge patches. `resets` belongs to the root: per subresource the field paths that a write
    through it cannot change and therefore never owns.
    """

    kind: Literal["scalar", "struct", "map", "list", "any"]
    name: str = ""
    scalar: str = ""
    fields: Mapping[str, "Schema"] = field(default_factory=dict)
    element: "Schema | None" = None
    atomic: bool = False
    list_type: Literal["atomic", "set", "map"] = "atomic"
    keys: tuple[str, ...] = ()
    key_defaults: Mapping[str, Any] = field(default_factory=dict)
    strategies: frozenset[str] = frozenset()
    merge_key: str = ""
    always_there: bool = False
    keeps_zero: bool = False
    resets: Mapping[str, frozenset[FieldPath]] = field(default_factory=dict)

    def child(self, name: str) -> "Schema | None":
        """The schema of a field or map entry; None when the schema knows no such field."""
        if (known := self.fields.get(name)) is not None:
            return known
        return ANY if self.kind == "any" else self.element if self.kind in ("struct", "map") else None

    def declares(self, name: str) -> bool:
        """Whether `name` is a field by name, not merely a possible map entry."""
        return name in self.fields


ANY = Schema("any")


def schema_of(group: str, kind: str) -> Schema | None:
    """The schema of a built-in kind (`group` is empty for the core group); None for a kind that has no
    table.
    """
    return _builtin()[kind] if kind in KINDS.get(group, ()) else None


def schema_of_crd(openapi: Object, *, status: bool = False) -> Schema:
    """The schema of a custom kind, from the `openAPIV3Schema` of its version in the CustomResourceDefinition.

    `status` says whether the version has the status subresource, in which case a write of the main
    resource never owns the status, nor a write of the status the spec. The apiVersion, kind and metadata
    that every object has are added. (Kubernetes, "Custom Resources", structural schemas; "Server-Side
    Apply", merge strategy.)
    """
    root = _from_openapi(openapi)
    metadata = _builtin()["ObjectMeta"]
    fields = {**root.fields, "apiVersion": _STRING, "kind": _STRING, "metadata": metadata}
    return replace(root, kind="struct", fields=fields, resets=_WITH_STATUS if status else _EMPTY)


def unknown_fields(obj: Object, schema: Schema) -> list[str]:
    """The paths of fields that the schema does not know, worded as strict decoding words them
    (`spec.ports[0].foo`).
    """
    return list(_unknown(obj, schema, ""))


def _unknown(value: Any, schema: Schema, path: str) -> Iterator[str]:
    match value:
        case dict():
            for name, entry in value.items():
                where = f"{path}.{name}" if path else name
                known = schema.child(name)
                if known is not None:
                    yield from _unknown(entry, known, where)
                elif schema.kind == "struct":
                    yield where
        case list() if schema.kind == "list" and schema.element is not None:
            for index, item in enumerate(value):
                yield from _unknown(item, schema.element, f"{path}[{index}]")
        case _:
            return


_STRING = Schema("scalar", scalar="string")
_FIELD_TYPE = re.compile(
    r"(?P<open>[\[{]?)(?P<name>\w+)(?P<atom>!?)[\]}]?(?P<outer>!?)"
    r"(?P<list>set|keys\((?P<keys>[^)]*)\))?(?P<presence>[+?]?)(?:<(?P<strategies>[^:>]*)(?::(?P<merge_key>\w+))?>)?"
)


def _declarations(text: str) -> Iterator[tuple[str, list[str]]]:
    for paragraph in re.split(r"\n(?=\S)", text.strip()):
        name, _, body = paragraph.partition(":")
        lines = re.sub(r"\n    +", " ", body).split("\n")
        yield name, [part.strip() for line in lines for part in line.split(";") if part.strip()]


@cache
def _builtin() -> Mapping[str, Schema]:
    tables = (
        schema_tables_core,
        schema_tables_pod,
        schema_tables_volumes,
        schema_tables_apps,
        schema_tables_rbac,
    )
    declared = {name: lines for table in tables for name, lines in _declarations(table.TYPES)}
    roots = {kind for kinds in KINDS.values() for kind in kinds}
    fields: dict[str, dict[str, Schema]] = {name: {} for name in declared}
    types = {
        name: Schema("struct", name=name, fields=fields[name], resets=_RESETS.get(name, _EMPTY))
        for name in declared
    }
    for name, lines in declared.items():
        if name in roots:
            metadata = replace(types["ObjectMeta"], always_there=True)
            fields[name] |= {"apiVersion": _STRING, "kind": _STRING, "metadata": metadata}
        for line in lines:
            expression, *names = line.split()
            found = _FIELD_TYPE.fullmatch(expression)
            if found is None:
                raise ValueError(f"not a type of fields: {expression!r}")
            fields[name] |= dict.fromkeys(names, _field_schema(found, types))
    return types


def _field_schema(found: re.Match[str], types: Mapping[str, Schema]) -> Schema:
    name = found["name"]
    base = ANY if name == "any" else Schema("scalar", scalar=name) if name in _SCALARS else types[name]
    strategies = frozenset((found["strategies"] or "").split(",")) - {""}
    always, keeps_zero = found["presence"] == "+", found["presence"] == "?"
    base = replace(base, atomic=bool(found["atom"]))
    match found["open"]:
        case "{":
            return Schema("map", element=base, atomic=bool(found["outer"]), always_there=always)
        case "[":
            keys = dict(key.partition("=")[::2] for key in (found["keys"] or "").split(",") if key)
            return Schema(
                "list",
                element=base,
                list_type="map" if keys else "set" if found["list"] else "atomic",
                keys=tuple(keys),
                key_defaults={key: default for key, default in keys.items() if default},
                strategies=strategies,
                merge_key=found["merge_key"] or "",
                always_there=always,
                keeps_zero=keeps_zero,
            )
        case _:
            return replace(base, strategies=strategies, always_there=always, keeps_zero=keeps_zero)


def _from_openapi(openapi: Object) -> Schema:
    if openapi.get("x-kubernetes-int-or-string"):
        return Schema("scalar", scalar="intstr")
    open_ended = bool(openapi.get("x-kubernetes-preserve-unknown-fields"))
    match openapi.get("type"):
        case "array":
            return _list_from_openapi(openapi)
        case "object":
            return _map_from_openapi(openapi, open_ended)
        case "string" | "boolean" | "number" | "integer" as named:
            return Schema("scalar", scalar=_OPENAPI_SCALARS[named])
        case _:
            return ANY


def _list_from_openapi(openapi: Object) -> Schema:
    items = openapi.get("items") or {}
    keys = tuple(openapi.get("x-kubernetes-list-map-keys") or ())
    properties = items.get("properties") or {}
    return Schema(
        "list",
        element=_from_openapi(items),
        list_type=openapi.get("x-kubernetes-list-type") or "atomic",
        keys=keys,
        key_defaults={
            key: properties[key]["default"] for key in keys if "default" in properties.get(key, {})
        },
    )


def _map_from_openapi(openapi: Object, open_ended: bool) -> Schema:
    atomic = openapi.get("x-kubernetes-map-type") == "atomic"
    fields = {name: _from_openapi(sub) for name, sub in (openapi.get("properties") or {}).items()}
    if openapi.get("x-kubernetes-embedded-resource"):
        embedded = {"apiVersion": _STRING, "kind": _STRING, "metadata": _builtin()["ObjectMeta"]}
        fields = {**fields, **embedded}
    match openapi.get("additionalProperties"):
        case dict() as values:
            return Schema("map", element=_from_openapi(values), atomic=atomic)
        case True:
            return Schema("map", element=ANY, atomic=atomic)
        case _:
            return Schema("struct", fields=fields, element=ANY if open_ended else None, atomic=atomic)
