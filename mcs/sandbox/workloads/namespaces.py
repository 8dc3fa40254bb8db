"""The end of a Namespace: its contents are deleted, and only then it may go.

Source: Kubernetes concepts, "Namespaces"; API concepts, "Resource deletion" (the `kubernetes` finalizer in `spec`).
"""

from collections.abc import Iterable

from mcs.sandbox.resources import NAMESPACES, ResourceType
from mcs.sandbox.store import Object
from mcs.sandbox.workloads.actions import Actions, Delete, Update, until_due
from mcs.sandbox.workloads.ownership import is_being_deleted

FINALIZER = "kubernetes"


def plan_namespace(
    namespace: Object, contents: Iterable[tuple[ResourceType, Object]], age: float, delay: float
) -> Actions:
    """Delete the contents of a terminating namespace, or let it go when there are none.

    Nothing happens until `delay` seconds have passed since its deletion; `age` is how many have.
    """
    finalizers = namespace.get("spec", {}).get("finalizers") or []
    if not is_being_deleted(namespace) or FINALIZER not in finalizers:
        return []
    if waiting := until_due(delay, age):
        return waiting
    found = list(contents)
    if not found:
        rest = [name for name in finalizers if name != FINALIZER]
        spec = {**namespace.get("spec", {}), "finalizers": rest}
        return [Update(NAMESPACES, {**namespace, "spec": spec}, "finalize")]
    return [Delete(resource, obj, "Background") for resource, obj in found if not is_being_deleted(obj)]
