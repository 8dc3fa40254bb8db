"""What a fresh cluster already holds: its system namespaces.

Source: Kubernetes, "Namespaces", Initial namespaces.
"""

from mcs.sandbox.api import Api, WriteOptions
from mcs.sandbox.resources import NAMESPACES

FIRST_NAMESPACES = ("kube-system", "kube-public", "kube-node-lease", "default")


def install_first_objects(api: Api) -> None:
    """Create them; the store must be empty."""
    options = WriteOptions(manager="kube-apiserver")
    for name in FIRST_NAMESPACES:
        api.create(NAMESPACES, {"metadata": {"name": name}}, options=options)
