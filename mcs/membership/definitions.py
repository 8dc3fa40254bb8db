"""Whether a CustomResourceDefinition of ours is installed over the one that a cluster has; never a downgrade.

Source: the labels that SIG Multicluster's definitions carry for installers, schema revision and release version.
Applying it is left to others.
"""

import re
from typing import Any, Literal

from msgspec import Struct

from mcs.model.installed import Definition

REVISION_LABEL = "multicluster.x-k8s.io/crd-schema-revision"
RELEASE_LABEL = "multicluster.x-k8s.io/release-version"


class Verdict(Struct, frozen=True):
    """What becomes of one definition. `remark` is for the user; empty where there is nothing to know."""

    action: Literal["install", "replace", "keep"]
    remark: str = ""


def verdict_on(ours: dict[str, Any], present: Definition | None) -> Verdict:
    """What to do with the definition `ours` where the cluster has `present` in its place.

    One that tells its revision is replaced when that is older; one that tells none, only when it does not serve the
    version that we use. One that stores objects in a version that ours lacks is never replaced.
    """
    name = ours["metadata"]["name"]
    if present is None:
        return Verdict("install")
    used = _stored_version(ours)
    serves = any(each.name == used and each.served for each in present.spec.versions)
    lacking = set(present.status.stored_versions or ()) - {each["name"] for each in ours["spec"]["versions"]}
    own, other = (
        _revision(labels) for labels in (ours["metadata"].get("labels") or {}, present.metadata.labels)
    )
    is_older = other < own if own is not None and other is not None else not serves
    told = f"{name} is there already"
    if is_older and lacking:
        return Verdict(
            "keep",
            f"{told} and was left: it stores objects in {', '.join(sorted(lacking))}, which ours does not "
            "know; upgrade "
            "it by hand",
        )
    if is_older:
        return Verdict("replace", f"{told} in an older revision and was replaced")
    if not serves:
        return Verdict("keep", f"{told} and was left: it is newer and does not serve {used}; use a newer mcs")
    if own is not None and other is not None and other > own:
        return Verdict("keep", f"{told} in a newer revision and was left")
    return Verdict("keep")


def _stored_version(ours: dict[str, Any]) -> str:
    return next(str(each["name"]) for each in ours["spec"]["versions"] if each["storage"])


def _revision(labels: dict[str, str]) -> tuple[int, tuple[int, ...]] | None:
    """Schema revision and release, both to be compared; None where the definition does not tell them."""
    revision, release = labels.get(REVISION_LABEL, ""), labels.get(RELEASE_LABEL, "")
    found = re.fullmatch(r"v(\d+)\.(\d+)\.(\d+)(?:[-+].*)?", release)
    if not (revision.isascii() and revision.isdecimal()) or found is None:
        return None
    return int(revision), tuple(int(part) for part in found.groups())
