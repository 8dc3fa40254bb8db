"""How a namespace ends: late enough that what is deleted with it is still found, then contents first."""

from __future__ import annotations

import pytest

from mcs.sandbox.resources import CONFIGMAPS, NAMESPACES
from mcs.sandbox.store import Object
from mcs.sandbox.workloads.actions import Actions, Again, Delete, Update
from mcs.sandbox.workloads.namespaces import plan_namespace

ENDING: Object = {
    "metadata": {"name": "shop", "deletionTimestamp": "2026-01-01T00:00:00Z"},
    "spec": {"finalizers": ["kubernetes"]},
}
STAYING: Object = {"metadata": {"name": "shop"}, "spec": {"finalizers": ["kubernetes"]}}
GONE: Object = {**ENDING, "spec": {"finalizers": []}}
FULL: Object = {"metadata": {"name": "full", "namespace": "shop"}}
GOING: Object = {
    "metadata": {"name": "going", "namespace": "shop", "deletionTimestamp": "2026-01-01T00:00:00Z"}
}


@pytest.mark.parametrize(
    ("namespace", "contents", "age", "actions"),
    [
        (STAYING, [FULL], 9, []),
        (GONE, [FULL], 9, []),
        (ENDING, [FULL], 0, [Again(1)]),
        (ENDING, [], 0.25, [Again(0.75)]),
        (ENDING, [FULL, GOING], 1, [Delete(CONFIGMAPS, FULL, "Background")]),
        (ENDING, [GOING], 1, []),
        (ENDING, [], 1, [Update(NAMESPACES, GONE, "finalize")]),
    ],
)
def test_a_namespace_waits_then_empties_then_goes(
    namespace: Object, contents: list[Object], age: float, actions: Actions
) -> None:
    assert plan_namespace(namespace, [(CONFIGMAPS, each) for each in contents], age, delay=1) == actions
