"""The annotation of `kubectl apply` without --server-side, which server-side apply by kubectl takes over.

Fields that the annotation records and that still have the recorded value do not conflict when kubectl
applies them on the server; afterwards the annotation follows the applied configuration. (Kubernetes,
"Server-Side Apply", upgrading from client-side apply.)
"""

import json

from mcs.model.names import LAST_APPLIED_ANNOTATION
from mcs.sandbox.apply.fields import NO_FIELDS, FieldSet, InvalidFieldsError, compare, fields_of
from mcs.sandbox.apply.schemas import Object, Schema


def fields_last_applied(live: Object, schema: Schema) -> FieldSet:
    """The fields of the recorded configuration that the live object still has unchanged; empty without
    the annotation.
    """
    text = ((live.get("metadata") or {}).get("annotations") or {}).get(LAST_APPLIED_ANNOTATION)
    if not text:
        return NO_FIELDS
    try:
        recorded = json.loads(text)
        if not isinstance(recorded, dict) or recorded.get("apiVersion") != live.get("apiVersion"):
            return NO_FIELDS
        difference = compare(recorded, live, schema)
        return fields_of(recorded, schema) - difference.modified - difference.added - difference.removed
    except (ValueError, InvalidFieldsError):
        return NO_FIELDS


def with_last_applied(result: Object, config: Object) -> Object:
    """The object with its annotation set to the applied configuration, when it has the annotation at all."""
    metadata = result.get("metadata") or {}
    if not (metadata.get("annotations") or {}).get(LAST_APPLIED_ANNOTATION):
        return result
    applied = config.get("metadata") or {}
    kept = {
        name: text
        for name, text in (applied.get("annotations") or {}).items()
        if name != LAST_APPLIED_ANNOTATION
    }
    own = {name: value for name, value in applied.items() if name != "annotations"}
    recorded = {**config, "metadata": {**own, "annotations": kept} if kept else own}
    text = json.dumps(recorded, separators=(",", ":"), sort_keys=True, ensure_ascii=False) + "\n"
    annotations = {**metadata["annotations"], LAST_APPLIED_ANNOTATION: text}
    return {**result, "metadata": {**metadata, "annotations": annotations}}
