"""Objects as a `meta.k8s.io/v1` Table, the form in which `kubectl get` asks for what it prints.

Source: Kubernetes API concepts, "Receiving resources as Tables". Built-in kinds have their columns in
`builtin_columns`; custom kinds bring `additionalPrinterColumns`. Reading the Accept header is left to
`server`.
"""

from collections.abc import Iterable
from datetime import datetime
from typing import Any, Literal

import msgspec

from mcs.sandbox.printing.ages import age_words
from mcs.sandbox.printing.builtin_columns import BUILTIN, NAME, Cells, CellsOf, Column
from mcs.sandbox.printing.json_path import found_values
from mcs.sandbox.resources import PrinterColumn, ResourceType
from mcs.sandbox.store import Object

_COLUMN_OF_A_DEFINITION = "Custom resource definition column (in JSONPath format): "
IncludeObject = Literal["None", "Metadata", "Object"]

_DEFAULT_COLUMNS = (
    PrinterColumn("Age", "date", ".metadata.creationTimestamp", "Age of the object, from its creation time."),
)


def table(
    resource: ResourceType,
    version: str,
    objects: Iterable[Object],
    now: datetime,
    *,
    metadata: Object | None = None,
    include: IncludeObject = "Metadata",
    with_columns: bool = True,
) -> Object:
    """The Table of some objects, ages as of `now`.

    `metadata` is the list's (resourceVersion, continue, remainingItemCount). Later events of a watch leave
    the column definitions out (`with_columns=False`).
    """
    columns, cells_of = _columns_of(resource, version)
    return {
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": metadata or {},
        "columnDefinitions": [column.as_json() for column in columns] if with_columns else None,
        "rows": [_row(obj, cells_of(obj, now), include) for obj in objects],
    }


def _row(obj: Object, cells: Cells, include: IncludeObject) -> Object:
    row: Object = {"cells": cells}
    match include:
        case "Object":
            row["object"] = obj
        case "Metadata":
            row["object"] = {
                "kind": "PartialObjectMetadata",
                "apiVersion": "meta.k8s.io/v1",
                "metadata": obj["metadata"],
            }
        case "None":
            row["object"] = None
    phase = obj.get("status", {}).get("phase") if obj.get("kind") == "Pod" else None
    if phase in ("Succeeded", "Failed"):
        told = "The pod failed." if phase == "Failed" else "The pod has completed successfully."
        row["conditions"] = [{"type": "Completed", "status": "True", "reason": phase, "message": told}]
    return row


def _columns_of(resource: ResourceType, version: str) -> tuple[tuple[Column, ...], CellsOf]:
    if not resource.custom and (found := BUILTIN.get(resource.group_resource)):
        return found
    custom = resource.printer_columns.get(version) or _DEFAULT_COLUMNS
    columns = tuple(
        Column(
            column.name, column.type, column.format, column.priority,
            column.description or f"{_COLUMN_OF_A_DEFINITION}{column.json_path}",
        )
        for column in custom
    )  # fmt: skip

    def cells(obj: Object, now: datetime) -> Cells:
        return [obj["metadata"]["name"], *(_cell(column, obj, now) for column in custom)]

    return (NAME, *columns), cells


def _cell(column: PrinterColumn, obj: Object, now: datetime) -> Any:
    try:
        values = found_values(column.json_path, obj)
    except ValueError:
        return None
    if not values or values[0] is None:
        return None
    value = values[0]
    match column.type:
        case "string":
            return _text(value)
        case "date":
            return age_words(value, now) if isinstance(value, str) else None
        case "integer":
            return int(value) if _is_number(value) else None
        case "number":
            return float(value) if _is_number(value) else None
        case "boolean":
            return value if isinstance(value, bool) else None
        case _:
            return None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
