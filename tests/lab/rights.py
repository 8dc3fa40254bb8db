"""The rights our programs run with in the lab: those of the README, so that more than it says is never used."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import yaml

README = Path(__file__).parents[2] / "README.md"
# The ClusterRoles of the README, and the users of the lab that they are bound to.
USERS: Mapping[str, str] = {"mcs-controller": "controller", "mcs-dns": "dns"}
# What a controller of one cluster is in the others, which it only reads.
OTHER_ROLE, OTHER_USER = "mcs-other-controller", "other-controller"
_READING = {"get", "list", "watch"}


def roles_of_the_readme() -> str:
    """The manifest of the README that says which rights are needed."""
    (manifest,) = (
        block
        for block in re.findall(r"```yaml\n(.*?)```", README.read_text(), re.DOTALL)
        if "ClusterRole" in block
    )
    return str(manifest)


def role_in_other_clusters() -> str:
    """The role of a controller in the clusters that are not its own: of the README's, what changes nothing."""
    (role,) = (
        each
        for each in yaml.safe_load_all(roles_of_the_readme())
        if each["metadata"]["name"] == "mcs-controller"
    )
    rules = [
        rule | {"verbs": [verb for verb in rule["verbs"] if verb in _READING]}
        for rule in role["rules"]
        if _READING & set(rule["verbs"])
    ]
    return yaml.safe_dump(role | {"metadata": {"name": OTHER_ROLE}, "rules": rules})
