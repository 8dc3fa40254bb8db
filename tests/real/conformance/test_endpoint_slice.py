"""Specification 16 of MCS conformance: the EndpointSlices of an export. It is that of the suite's endpoint_slice.go."""

from __future__ import annotations

import pytest

from tests.real.conformance.api import Object
from tests.real.conformance.objects import HELLO, export
from tests.real.conformance.suite import (
    MANAGED_BY_LABEL,
    SERVICE_NAME_LABEL,
    SOURCE_CLUSTER_LABEL,
    Driver,
    require,
)

pytestmark = pytest.mark.nodes


@pytest.mark.spec(
    "MCS-conformance#16: Exporting a service should create an MCS EndpointSlice in the service's namespace in each "
    "cluster with the required MCS labels. Unexporting should delete the EndpointSlice.",
    "Optional",
)
@pytest.mark.labels("EndpointSlice", ref="using-endpointslice-objects-to-track-endpoints")
async def test_slices_of_an_export_are_everywhere_until_it_is_unexported(driver: Driver) -> None:
    await driver.set_up(exported=export())
    seen = []
    for member in driver.members:
        for family in await driver.families(member):
            found = await driver.mcs_slice(member, family)
            judge_labels(found)
            seen.append((member, found["metadata"]["name"]))
    await driver.unexport(driver.members[0])
    for member, name in seen:
        await driver.slice_ends(member, name)


def judge_labels(found: Object) -> None:
    labels = found["metadata"]["labels"]
    name = found["metadata"]["name"]
    require(labels.get(SERVICE_NAME_LABEL) == HELLO, f"EndpointSlice {name!r} does not name the service")
    for label in (SOURCE_CLUSTER_LABEL, MANAGED_BY_LABEL):
        require(label in labels, f"EndpointSlice {name!r} does not have the label {label!r}")
    require(
        labels[MANAGED_BY_LABEL] != "endpointslice-controller.k8s.io",
        f"EndpointSlice {name!r} is managed by the controller of Kubernetes",
    )
