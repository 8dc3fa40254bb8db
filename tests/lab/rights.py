"""The rights our programs run with in the lab: those of the README, so that more than it says is never used."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

README = Path(__file__).parents[2] / "README.md"
# The ClusterRoles of the README, and the users of the lab that they are bound to.
USERS: Mapping[str, str] = {"mcs-controller": "controller", "mcs-dns": "dns"}


def roles_of_the_readme() -> str:
    """The manifest of the README that says which rights are needed."""
    (manifest,) = (
        block
        for block in re.findall(r"```yaml\n(.*?)```", README.read_text(), re.DOTALL)
        if "ClusterRole" in block
    )
    return str(manifest)
