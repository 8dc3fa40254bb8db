"""Whether a cluster is the member that it was given for, judged by what it says of itself.

Source: KEP-2149: the id and the clusterset of a member are its ClusterProperties, and neither changes while it is one.
Reading them is left to others.
"""

from collections.abc import Mapping

from msgspec import Struct

from mcs.model.clusters import CLUSTER_ID_PROPERTY, CLUSTERSET_PROPERTY
from mcs.model.names import ClusterId


class Identity(Struct, frozen=True):
    """What a cluster says of itself; None where it does not say it, or its CRD is missing."""

    cluster: str | None = None
    clusterset: str | None = None


def identity_problem(given: ClusterId, said: Identity) -> str:
    """Why the cluster cannot be the member `given`, and what to do; empty when it can, or says nothing of itself."""
    if said.cluster is None or said.cluster == given:
        return ""
    return (
        f'its ClusterProperty "{CLUSTER_ID_PROPERTY}" says that it is "{said.cluster}", not "{given}"; give it as '
        f"{said.cluster}=CONTEXT, or correct its context or the property"
    )


def change_problem(before: Identity, said: Identity) -> str:
    """Why a member cannot stay one after what it said `before`, and what to do; empty when it can.

    KEP-2149: a member stays in its clusterset. One that names none any more, or names one for the first time, has not
    changed it.
    """
    if None in (before.clusterset, said.clusterset) or said.clusterset == before.clusterset:
        return ""
    return (
        f'its ClusterProperty "{CLUSTERSET_PROPERTY}" was "{before.clusterset}" and is now "{said.clusterset}", but a '
        "member stays in its clusterset; correct the property, or restart the controller if all members have moved"
    )


def clusterset_problem(cluster: ClusterId, said: Mapping[ClusterId, Identity]) -> str:
    """With which members `cluster` disagrees about the clusterset; empty when with none that names one."""
    own = said[cluster].clusterset
    others = sorted(
        f'"{each}" in "{identity.clusterset}"'
        for each, identity in said.items()
        if own is not None and identity.clusterset not in (None, own)
    )
    if not others:
        return ""
    told = f'its ClusterProperty "{CLUSTERSET_PROPERTY}" puts it in "{own}", but'
    return f"{told} {', '.join(others)}; correct the wrong one"
