"""Who controls an object, and which labels a selector chooses.

Source: Kubernetes concepts, "Owners and Dependents" and "Labels and Selectors".
"""

from mcs.sandbox.apply.label_selectors import chooses
from mcs.sandbox.resources import ResourceType
from mcs.sandbox.store import Object, Objects
from mcs.sandbox.workloads.actions import Actions, Update


def controller_reference(resource: ResourceType, owner: Object) -> Object:
    """The ownerReference of the one controller of an object."""
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }


def controller_of(obj: Object) -> Object | None:
    """The ownerReference marked as controller, or None."""
    references = obj["metadata"].get("ownerReferences") or ()
    return next((reference for reference in references if reference.get("controller")), None)


def controlled_by(owner: Object, objects: Objects) -> Objects:
    """Those whose controller is the owner, by uid."""
    uid = owner["metadata"]["uid"]
    return [obj for obj in objects if (found := controller_of(obj)) is not None and found["uid"] == uid]


def is_being_deleted(obj: Object) -> bool:
    """Whether a deletion has begun."""
    return "deletionTimestamp" in obj["metadata"]


def plan_claims(
    owner_resource: ResourceType, owner: Object, resource: ResourceType, objects: Objects
) -> Actions:
    """Adopt what the owner's selector chooses and nobody controls; let go of what it no longer chooses."""
    if is_being_deleted(owner):
        return []
    reference = controller_reference(owner_resource, owner)
    actions: Actions = []
    for obj in objects:
        controller = controller_of(obj)
        is_chosen = chooses(owner["spec"].get("selector"), obj["metadata"].get("labels"))
        if controller is None and is_chosen and not is_being_deleted(obj):
            actions.append(Update(resource, _with_owner(obj, reference)))
        elif controller is not None and controller["uid"] == reference["uid"] and not is_chosen:
            actions.append(Update(resource, without_owners(obj, {reference["uid"]})))
    return actions


def without_owners(obj: Object, uids: set[str]) -> Object:
    """The object without the ownerReferences of these uids."""
    metadata = obj["metadata"]
    left = [ref for ref in metadata.get("ownerReferences") or () if ref["uid"] not in uids]
    return {**obj, "metadata": {**metadata, "ownerReferences": left}}


def _with_owner(obj: Object, reference: Object) -> Object:
    metadata = obj["metadata"]
    return {
        **obj,
        "metadata": {**metadata, "ownerReferences": [*metadata.get("ownerReferences", ()), reference]},
    }
