"""Strategic merge patches: what `kubectl apply`, `edit`, `set` and `rollout` send for built-in kinds.

A strategic merge patch is a JSON merge patch whose lists merge by the keys that the schema names, steered
by the directives `$patch`, `$retainKeys`, `$setElementOrder/FIELD` and `$deleteFromPrimitiveList/FIELD`.
(Kubernetes, "Update API Objects in Place Using kubectl patch", "Strategic merge patch".)
"""

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

from mcs.sandbox.apply.go_text import go_text
from mcs.sandbox.apply.merge import PatchError
from mcs.sandbox.apply.schemas import ANY, Object, Schema

DIRECTIVE = "$patch"
RETAIN_KEYS = "$retainKeys"
SET_ORDER = "$setElementOrder/"
DELETE_FROM = "$deleteFromPrimitiveList/"


def strategic_merge(live: Object, patch: Object, schema: Schema) -> Object:
    """The live object after the patch; raises PatchError for a patch that contradicts itself or lacks a
    merge key.
    """
    return _merged_map(live, patch, schema)


def _merged_map(live: Object, patch: Object, schema: Schema) -> Object:
    if DIRECTIVE in patch:
        return _replaced_map(patch)
    result = _retained(live, patch)
    ordered = {name[len(SET_ORDER) :]: order for name, order in patch.items() if name.startswith(SET_ORDER)}
    for name, order in ordered.items():
        if name in live or name in patch:
            result[name] = _ordered_list(live.get(name), patch.get(name), order, _child(schema, name))
    for name, value in patch.items():
        if name == RETAIN_KEYS or name.startswith(SET_ORDER) or name in ordered:
            continue
        if name.startswith(DELETE_FROM):
            field = name[len(DELETE_FROM) :]
            if isinstance(result.get(field), list):
                result[field] = [item for item in result[field] if item not in value]
        elif value is None:
            result.pop(name, None)
        else:
            _put(result, name, value, _child(schema, name))
    return result


def _child(schema: Schema, name: str) -> Schema:
    return schema.child(name) or ANY


def _put(result: Object, name: str, value: Any, schema: Schema) -> None:
    held = result.get(name)
    if isinstance(held, dict) and isinstance(value, dict) and "replace" not in schema.strategies:
        result[name] = _merged_map(held, value, schema)
    elif isinstance(held, list) and isinstance(value, list) and "merge" in schema.strategies:
        result[name] = _merged_list(held, value, schema)
    else:
        kept = list(_without_directives([value]))
        result.pop(name, None)
        if kept:
            result[name] = kept[0]


def _replaced_map(patch: Object) -> Object:
    match patch[DIRECTIVE]:
        case "replace":
            return {name: value for name, value in patch.items() if name != DIRECTIVE}
        case "delete":
            return {}
        case unknown:
            raise PatchError(f"unknown patch type: {unknown} in map: {go_text(patch)}", code=500)


def _retained(live: Object, patch: Object) -> Object:
    keys = patch.get(RETAIN_KEYS)
    if keys is None:
        return dict(live)
    if not isinstance(keys, list):
        raise PatchError("invalid patch format of retainKeys", code=400)
    named = (name for name, value in patch.items() if value is not None and not name.startswith("$"))
    if any(name not in keys for name in named):
        raise PatchError("invalid patch format of retainKeys", code=400)
    return {name: value for name, value in live.items() if name in keys}


def _ordered_list(live: Any, patch: Any, order: Any, schema: Schema) -> list[Any]:
    held: list[Any] = live if isinstance(live, list) else []
    sent: list[Any] = patch if isinstance(patch, list) else []
    _check_order(sent, order, schema)
    if patch is None:
        result = list(held)
    elif live is None:
        result = list(_without_directives(sent))
    elif "merge" in schema.strategies:
        result = _merged_list(held, sent, schema)
    else:
        result = sent
    return _interleaved(result, order, held, schema)


def _check_order(sent: Sequence[Any], order: Sequence[Any], schema: Schema) -> None:
    plain = [item for item in sent if not (isinstance(item, dict) and DIRECTIVE in item)]
    wanted = iter(_identity(item, schema) for item in order)
    if not all(_identity(item, schema) in wanted for item in plain):
        told = f"{go_text(plain)}\n doesn't match $setElementOrder list:\n{go_text(list(order))}\n"
        raise PatchError(f"The order in patch list:\n{told}", code=500)


def _merged_list(held: list[Any], sent: list[Any], schema: Schema) -> list[Any]:
    if not any(isinstance(item, dict) for item in (*held, *sent)):
        return _interleaved(list(dict.fromkeys([*held, *sent])), sent, held, schema)
    if not schema.merge_key:
        raise PatchError("cannot merge lists without merge key", code=500)
    held, plain = _directed(held, sent, schema)
    result = list(held)
    places = {_identity(item, schema): place for place, item in reversed(list(enumerate(held)))}
    for item in plain:
        if schema.merge_key not in item:
            raise _no_merge_key(item, schema)
        identity = _identity(item, schema)
        if identity in places:
            place = places[identity]
            result[place] = _merged_map(result[place], item, schema.element or ANY)
        else:
            places[identity] = len(result)
            result.append(next(iter(_without_directives([item]))))
    return _interleaved(result, plain, held, schema)


def _directed(held: list[Any], sent: list[Any], schema: Schema) -> tuple[list[Any], list[Any]]:
    plain = [item for item in sent if DIRECTIVE not in item]
    replaces = False
    for item in sent:
        match item.get(DIRECTIVE):
            case None:
                continue
            case "delete" if schema.merge_key in item:
                held = [other for other in held if _identity(other, schema) != _identity(item, schema)]
            case "delete":
                raise _no_merge_key(item, schema)
            case "replace":
                replaces = True
            case "merge":
                raise PatchError("merging lists cannot yet be specified in the patch", code=500)
            case unknown:
                raise PatchError(f"unknown patch type: {unknown} in map: {go_text(item)}", code=500)
    return ([], plain) if replaces else (held, plain)


def _no_merge_key(item: Object, schema: Schema) -> PatchError:
    named = f"map: {go_text(item)} does not contain declared merge key: {schema.merge_key}"
    return PatchError(named, code=500)


def _identity(item: Any, schema: Schema) -> Hashable:
    value = item.get(schema.merge_key) if isinstance(item, dict) else item
    return value if isinstance(value, Hashable) else repr(value)


def _interleaved(
    items: list[Any], order: Iterable[Any], live_order: Iterable[Any], schema: Schema
) -> list[Any]:
    """Items that `order` names in its order, the others in theirs, put between them by their places in
    the live list.
    """
    rank = {
        identity: place for place, identity in enumerate(dict.fromkeys(_identity(i, schema) for i in order))
    }
    served = {_identity(item, schema): place for place, item in reversed(list(enumerate(live_order)))}
    named = sorted(
        (i for i in items if _identity(i, schema) in rank), key=lambda i: rank[_identity(i, schema)]
    )
    others = sorted(
        (item for item in items if _identity(item, schema) not in rank),
        key=lambda item: served.get(_identity(item, schema), len(served)),
    )
    result: list[Any] = []
    while named and others:
        left, right = served.get(_identity(others[0], schema)), served.get(_identity(named[0], schema))
        goes_first = left is not None and right is not None and left < right
        result.append((others if goes_first else named).pop(0))
    return [*result, *named, *others]


def _without_directives(values: Iterable[Any]) -> Iterable[Any]:
    for value in values:
        match value:
            case dict() if value.get(DIRECTIVE) == "delete":
                continue
            case dict():
                kept = {
                    name: list(_without_directives([entry]))
                    for name, entry in value.items()
                    if entry is not None and not _is_directive(name)
                }
                yield {name: entry[0] for name, entry in kept.items() if entry}
            case list():
                yield list(_without_directives(value))
            case _:
                yield value


def _is_directive(name: str) -> bool:
    return name in (DIRECTIVE, RETAIN_KEYS) or name.startswith((SET_ORDER, DELETE_FROM))
