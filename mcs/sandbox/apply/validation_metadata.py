"""What may not stand in the metadata of an object, whatever its kind, and what may not change there.

Names are checked where the request is read, because they are also part of its path. (Kubernetes API
conventions, "Metadata"; "Labels and Selectors"; "Annotations"; "Finalizers"; "Owners and Dependents".)
"""

from collections.abc import Iterator, Mapping
from typing import Any

from mcs.sandbox.apply.causes import Cause, immutable, invalid, invalid_each, too_long
from mcs.sandbox.apply.formats import label_value_errors, qualified_name_errors
from mcs.sandbox.apply.schemas import Object

MOST_ANNOTATION_BYTES = 256 * 1024
STANDARD_FINALIZERS = ("kubernetes", "orphan", "foregroundDeletion")


def invalid_labels(labels: Mapping[str, str], path: str) -> Iterator[Cause]:
    """Causes for keys and values that are not those of labels."""
    for key, value in labels.items():
        yield from invalid_each(path, key, qualified_name_errors(key))
        yield from invalid_each(path, value, label_value_errors(value))


def invalid_metadata(
    metadata: Object, old: Object | None, *, plain_finalizers: bool = False
) -> Iterator[Cause]:
    """Causes for labels, annotations, finalizers and owners; with `old`, also for what never changes.

    Definitions and custom objects may have `plain_finalizers`, without a domain and a slash.
    """
    yield from _invalid_owners(metadata.get("ownerReferences") or [])
    yield from _invalid_finalizers(metadata.get("finalizers") or [], plain=plain_finalizers)
    # A server reports these twice: its generic check and that of the kind both look at them.
    for name in ("deletionTimestamp", "deletionGracePeriodSeconds") * (2 if old is not None else 0):
        yield from immutable(f"metadata.{name}", metadata.get(name), (old or {}).get(name))
    yield from invalid_labels(metadata.get("labels") or {}, "metadata.labels")
    yield from _invalid_annotations(metadata.get("annotations") or {})


def _invalid_annotations(annotations: Mapping[str, str]) -> Iterator[Cause]:
    for key in annotations:
        yield from invalid_each("metadata.annotations", key, qualified_name_errors(key.lower()))
    size = sum(len(key.encode()) + len(value.encode()) for key, value in annotations.items())
    if size > MOST_ANNOTATION_BYTES:
        yield too_long("metadata.annotations", MOST_ANNOTATION_BYTES)


def unqualified_finalizers(finalizers: list[str], path: str, *, indexed: bool) -> Iterator[Cause]:
    """Causes for finalizers that are neither well known nor have a domain before a slash."""
    for index, name in enumerate(finalizers):
        if "/" not in name and name not in STANDARD_FINALIZERS:
            where = f"{path}[{index}]" if indexed else path
            yield invalid(where, name, "name is neither a standard finalizer name nor is it fully qualified")


def _invalid_finalizers(finalizers: list[str], *, plain: bool) -> Iterator[Cause]:
    for name in finalizers:
        yield from invalid_each("metadata.finalizers", name, qualified_name_errors(name))
    if not plain:
        yield from unqualified_finalizers(finalizers, "metadata.finalizers", indexed=True)


def _invalid_owners(owners: list[Object]) -> Iterator[Cause]:
    path = "metadata.ownerReferences"
    for owner in owners:
        if not owner.get("apiVersion"):
            yield invalid(f"{path}.apiVersion", "", "version must not be empty")
        for name in ("kind", "name", "uid"):
            if not owner.get(name):
                yield invalid(f"{path}.{name}", "", "must not be empty")
        if (owner.get("apiVersion"), owner.get("kind")) == ("v1", "Event"):
            yield invalid(path, owner, "/v1, Kind=Event is disallowed from being an owner")
    controllers: list[Any] = [owner for owner in owners if owner.get("controller")]
    if len(controllers) > 1:
        first, second = (f"{owner.get('kind')}/{owner.get('name')}" for owner in controllers[:2])
        found = f'Found "true" in references for {first} and {second}'
        yield invalid(path, owners, f"Only one reference can have Controller set to true. {found}")
