"""Objects of any kind in a member, kept whole: what a federated object made, and what its status says there.

Kinds that we know by their fields are in the other modules.
"""

from typing import Any

from mcs.model.meta import KubernetesObject


class TargetObject(KubernetesObject, frozen=True):
    """An object whose metadata is decoded, and which is kept besides as the server sent it."""

    document: dict[str, Any] = {}
