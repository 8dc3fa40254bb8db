"""What a plan may ask for. One executor carries actions out; a dry run prints them; tests compare them."""

from typing import Any

from msgspec import Struct

from mcs.model.events import Event
from mcs.model.meta import KubernetesObject
from mcs.model.names import ClusterId
from mcs.model.resources import EVENTS, Resource


class Apply(Struct, frozen=True, kw_only=True):
    """Server-side apply of `object`, whole meaning of ours, with our one field manager.

    With `subresource` "status" only the status of the object is applied. Before a name that the cluster does
    not show as ours is applied, the executor looks: absent, it is applied; somebody else's, it is left alone. A name
    that `is_hashed` nobody else would choose: it is applied without a look the first time, taking over no field.
    """

    cluster: ClusterId
    resource: Resource[Any]
    object: KubernetesObject
    subresource: str = ""
    is_hashed: bool = False


class Delete(Struct, frozen=True, kw_only=True):
    """Delete one object that is ours, and only in the state the plan saw it in (uid and resourceVersion)."""

    cluster: ClusterId
    resource: Resource[Any]
    namespace: str
    name: str
    uid: str
    resource_version: str

    @classmethod
    def of(cls, cluster: ClusterId, resource: Resource[Any], seen: KubernetesObject) -> "Delete":
        """Delete this object as it was seen."""
        metadata = seen.metadata
        return cls(
            cluster=cluster,
            resource=resource,
            namespace=metadata.namespace,
            name=metadata.name,
            uid=metadata.uid,
            resource_version=metadata.resource_version,
        )


class Patch(Struct, frozen=True, kw_only=True):
    """JSON merge patch of an object that others write too, which must exist, or of its `subresource`.

    For what an apply cannot say without owning the object: a finalizer among those of others, a list that replaces
    what another controller left. A resourceVersion among the `changes` is a precondition.
    """

    cluster: ClusterId
    resource: Resource[Any]
    namespace: str
    name: str
    changes: dict[str, Any]
    subresource: str = ""


class RecordEvent(Struct, frozen=True, kw_only=True):
    """Create `object`, which tells of an object of kind `about`, best effort: it neither delays nor fails the plan.

    Its name is a hash of what it says, so that the same change is told once. The uid of the object that it is about
    is looked up when it is not told here: the plan may be what creates that object.
    """

    cluster: ClusterId
    about: Resource[Any]
    object: Event

    @property
    def resource(self) -> Resource[Event]:
        """Events."""
        return EVENTS


Action = Apply | Patch | Delete | RecordEvent
