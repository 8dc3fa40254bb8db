"""Which EndpointSlices are mirrors, and of which service."""

import pytest

from mcs.model.meta import ObjectMeta
from mcs.model.names import ServiceKey
from mcs.model.slices import IPV4, EndpointSlice

LOCAL = {"kubernetes.io/service-name": "own"}
IMPORTED = {
    "multicluster.kubernetes.io/service-name": "db",
    "multicluster.kubernetes.io/source-cluster": "east",
}


def managed_by(manager: str) -> dict[str, str]:
    return {"endpointslice.kubernetes.io/managed-by": manager}


@pytest.mark.parametrize(
    ("case", "labels", "is_mirror"),
    [
        ("what Kubernetes makes for a Service", LOCAL | managed_by("endpointslice-controller.k8s.io"), False),
        ("one by hand", LOCAL, False),
        ("an import of ours", LOCAL | IMPORTED | managed_by("mcs-controller"), True),
        ("one of another implementation", IMPORTED | managed_by("mesh.example.com"), True),
        ("one that says nothing of its manager", IMPORTED, True),
        (
            "a Service has the labels of an import, and Kubernetes copies them",
            LOCAL | IMPORTED | managed_by("endpointslice-controller.k8s.io"),
            False,
        ),
    ],
)
def test_which_slices_are_mirrors(case: str, labels: dict[str, str], is_mirror: bool) -> None:
    one = EndpointSlice(metadata=ObjectMeta(namespace="shop", name="x", labels=labels), address_type=IPV4)
    assert one.is_mirror is is_mirror, case
    assert one.service == ServiceKey("shop", "db" if is_mirror else "own"), case
