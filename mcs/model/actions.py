"""What a plan may ask for. One executor carries actions out; a dry run prints them; tests compare them."""

from typing import Any

from msgspec import Struct

from mcs.model.meta import KubernetesObject
from mcs.model.names import ClusterId
from mcs.model.resources import Resource


class Apply(Struct, frozen=True, kw_only=True):
    """Server-side apply of `object`, whole meaning of ours, with our one field manager.

    With `subresource` "status" only the status of the object is applied. Before a name that the cluster does
    not show as ours is applied, the executor looks: absent, it is applied; somebody else's, it is left alone.
    """

    cluster: ClusterId
    resource: Resource[Any]
    object: KubernetesObject
    subresource: str = ""


class Delete(Struct, frozen=True, kw_only=True):
    """Delete one object that is ours, and only in the state the plan saw it in (uid and resourceVersion)."""

    cluster: ClusterId
    resource: Resource[Any]
    namespace: str
    name: str
    uid: str
    resource_version: str


Action = Apply | Delete
