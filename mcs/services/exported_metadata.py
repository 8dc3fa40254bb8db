"""Exported labels and annotations: which of them a ServiceImport can carry.

The API does not validate `spec.exportedLabels` and `spec.exportedAnnotations`, so one bad value would make every write
of the import fail. Bad ones are left out here and named, so that the export can report them.
Source: Kubernetes' rules for labels, annotations and qualified names.
"""

import re
from collections.abc import Mapping

from msgspec import Struct

from mcs.model.multicluster import ServiceExport
from mcs.model.names import (
    DERIVED_SERVICE_ANNOTATION,
    EXPORTED_KEYS_ANNOTATION,
    MANAGED_BY_LABEL,
    PRECEDENCE_ANNOTATION,
    is_dns_label,
)
from mcs.model.preference import TRAFFIC_ANNOTATION

_NAME = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
_ANNOTATIONS_LIMIT = 256 * 1024
_LEFT_TO_US = 1024
"""Bytes of them that our own annotations may take, besides the exported keys that they repeat."""
_RESERVED = frozenset(
    {
        MANAGED_BY_LABEL,
        DERIVED_SERVICE_ANNOTATION,
        EXPORTED_KEYS_ANNOTATION,
        PRECEDENCE_ANNOTATION,
        TRAFFIC_ANNOTATION,
    }
)


class ExportedMetadata(Struct, frozen=True):
    """What goes to the import, and the keys that cannot, each with the reason."""

    labels: dict[str, str]
    annotations: dict[str, str]
    refused: tuple[str, ...] = ()


def exported_metadata(export: ServiceExport) -> ExportedMetadata:
    """The labels and annotations of an export that an import can carry, in the order of their keys."""
    labels, annotations = export.spec.exported_labels, export.spec.exported_annotations
    problems = {key: _label_problem(key, value) for key, value in sorted(labels.items())}
    refused = [f'label "{key}" {problem}' for key, problem in problems.items() if problem]
    good_labels = {key: labels[key] for key, problem in problems.items() if not problem}
    problems = {key: _key_problem(key.lower()) for key in sorted(annotations)}
    refused += [f'annotation "{key}" {problem}' for key, problem in problems.items() if problem]
    good_annotations = {key: annotations[key] for key, problem in problems.items() if not problem}
    if _size(good_labels, {}) > _ANNOTATIONS_LIMIT:
        refused.append("the keys of the labels are together larger than 255 KiB")
        good_labels = {}
    if _size(good_labels, good_annotations) > _ANNOTATIONS_LIMIT:
        refused.append("the annotations and all keys are together larger than 255 KiB")
        good_annotations = {}
    return ExportedMetadata(good_labels, good_annotations, tuple(refused))


def is_qualified_name(text: str) -> bool:
    """True for `[prefix/]name` as label keys and appProtocol have it."""
    prefix, slash, name = text.rpartition("/")
    if slash and not _is_subdomain(prefix):
        return False
    return _NAME.fullmatch(name) is not None


def is_label_value(text: str) -> bool:
    """True for the value of a label; the empty one is a value."""
    return not text or _NAME.fullmatch(text) is not None


def _is_subdomain(text: str) -> bool:
    return len(text) <= 253 and all(is_dns_label(part) for part in text.split("."))


def _key_problem(key: str) -> str:
    if key in _RESERVED:
        return "is reserved for the controller"
    return "" if is_qualified_name(key) else "is no valid key"


def _label_problem(key: str, value: str) -> str:
    if problem := _key_problem(key):
        return problem
    return "" if is_label_value(value) else "has no valid value"


def _size(labels: Mapping[str, str], annotations: Mapping[str, str]) -> int:
    """Bytes of all annotations that the import would have."""
    repeated = sum(len(key) + 1 for key in (*labels, *annotations))
    return _LEFT_TO_US + repeated + sum(len(key) + len(value.encode()) for key, value in annotations.items())
