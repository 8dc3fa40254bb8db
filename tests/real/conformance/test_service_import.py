"""Specifications 1 to 15 of MCS conformance: what a ServiceImport says, and when there is one.

They are those of the suite's service_import.go.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from ipaddress import ip_address

import pytest

from tests.real.conformance.api import Object
from tests.real.conformance.objects import PORT, export, port, service
from tests.real.conformance.suite import Driver, require, same_values

pytestmark = pytest.mark.nodes

FIRST_TOLD = {"exportedLabels": {"dummy-label": "true"}, "exportedAnnotations": {"dummy-annotation": "true"}}
SECOND_TOLD = {
    "exportedLabels": {"dummy-label2": "true"},
    "exportedAnnotations": {"dummy-annotation2": "true"},
}


@pytest.mark.spec(
    "MCS-conformance#1: A ServiceImport should only exist as long as there's at least one exporting cluster",
    "Required",
)
@pytest.mark.labels(ref="importing-services")
async def test_an_import_exists_as_long_as_a_cluster_exports(driver: Driver) -> None:
    first, second = driver.members
    await driver.set_up(exported=export())
    await driver.imported(first)
    await driver.deploy(second)
    await driver.export(second)
    await driver.import_stays(first, "the ServiceImport no longer exists after a second cluster exported")
    await driver.unexport(first)
    await driver.import_stays(first, "the ServiceImport no longer exists while a second cluster exports")
    await driver.unexport(second)
    await driver.import_ends(first, "the ServiceImport still exists after unexporting on all clusters")


@pytest.mark.spec(
    "MCS-conformance#2: Only labels and annotations specified as exported in the ServiceExport should be "
    "propagated to the ServiceImport",
    "Optional",
)
@pytest.mark.labels("ExportedLabels", ref="labels-and-annotations")
async def test_only_exported_labels_and_annotations_are_imported(driver: Driver) -> None:
    await driver.set_up(exported=export(**FIRST_TOLD))

    def verify(found: Object) -> None:
        tells(found, FIRST_TOLD)
        for field in ("labels", "annotations"):
            values = found["metadata"].get(field, {})
            require(not {"dummy-svc", "dummy-svcexport"} & values.keys(), f"the {field} were not exported")

    await driver.imported(driver.members[0], verify)


@pytest.mark.spec(
    "MCS-conformance#3: A service exported on two clusters with conflicting annotations and labels should apply "
    "the conflict resolution policy and report a Conflict condition on each ServiceExport",
    "Optional",
)
@pytest.mark.labels("ExportedLabels", ref="labels-and-annotations")
async def test_of_conflicting_labels_and_annotations_the_oldest_are_imported(driver: Driver) -> None:
    await driver.set_up(exported=export(**FIRST_TOLD))
    await driver.also_from_second(exported=export(**SECOND_TOLD))
    await all_conflict(driver)

    def verify(found: Object) -> None:
        tells(found, FIRST_TOLD)
        for field, name in (("labels", "dummy-label2"), ("annotations", "dummy-annotation2")):
            require(name not in found["metadata"].get(field, {}), f"{field} of the younger export")

    await driver.imported(driver.members[0], verify)


@pytest.mark.spec(
    "MCS-conformance#4: Exporting a ClusterIP service should create a ServiceImport of type ClusterSetIP in the "
    "service's namespace in each cluster. Unexporting should delete the ServiceImport",
    "Required",
)
@pytest.mark.labels("ClusterIP", ref="importing-services")
async def test_a_cluster_ip_service_is_imported_everywhere_until_it_is_unexported(driver: Driver) -> None:
    await driver.set_up(exported=export())
    await driver.condition_becomes(driver.members[0], "Valid", "True")
    await imported_until_unexported(driver, "ClusterSetIP")


@pytest.mark.spec(
    "MCS-conformance#5: The SessionAffinity for a ClusterSetIP ServiceImport should match the exported service's "
    "SessionAffinity",
    "Required",
)
@pytest.mark.labels("ClusterIP", ref="session-affinity")
async def test_session_affinity_is_that_of_the_service(driver: Driver) -> None:
    hello = service()
    await driver.set_up(hello, exported=export())
    await spec_matches(driver, hello, "sessionAffinity", "sessionAffinityConfig")


@pytest.mark.spec(
    "MCS-conformance#6: The InternalTrafficPolicy for a ClusterSetIP ServiceImport should match the exported "
    "service's InternalTrafficPolicy",
    "Required",
)
@pytest.mark.labels("ClusterIP", ref="internal-traffic-policy")
async def test_internal_traffic_policy_is_that_of_the_service(driver: Driver) -> None:
    hello = service(internalTrafficPolicy="Cluster")
    await driver.set_up(hello, exported=export())
    await spec_matches(driver, hello, "internalTrafficPolicy")


@pytest.mark.spec(
    "MCS-conformance#7: The TrafficDistribution for a ClusterSetIP ServiceImport should match the exported "
    "service's TrafficDistribution",
    "Required",
)
@pytest.mark.labels("ClusterIP", ref="traffic-distribution")
async def test_traffic_distribution_is_that_of_the_service(driver: Driver) -> None:
    hello = service(trafficDistribution="PreferClose")
    await driver.set_up(hello, exported=export())
    await spec_matches(driver, hello, "trafficDistribution")


@pytest.mark.spec(
    "MCS-conformance#8: An IP should be allocated for a ClusterSetIP ServiceImport for each IP family",
    "Required",
)
@pytest.mark.labels("ClusterIP", ref="clustersetip")
async def test_an_ip_is_allocated_for_each_family(driver: Driver) -> None:
    await driver.set_up(exported=export())

    def verify(found: Object) -> None:
        require(found["spec"].get("ips"), "no clusterset IP")

    # Judged as first seen with any: both fields must have been written together.
    spec = (await driver.imported(driver.members[0], verify))["spec"]
    families = [f"IPv{ip_address(ip).version}" for ip in spec["ips"]]
    require(families == spec.get("ipFamilies"), f"{spec['ips']} are not one for each of the ipFamilies")


@pytest.mark.spec(
    "MCS-conformance#9: The ports for a ClusterSetIP ServiceImport should match those of the exported service",
    "Required",
)
@pytest.mark.labels("ClusterIP", ref="service-port")
async def test_ports_are_those_of_the_service(driver: Driver) -> None:
    hello = service()
    await driver.set_up(hello, exported=export())
    await ports_become(driver, hello["spec"]["ports"])


@pytest.mark.spec(
    "MCS-conformance#10: A ClusterIP service exported on two clusters should expose the union of the constituent "
    "service ports and raise a conflict",
    "Required",
)
@pytest.mark.labels("ClusterIP", ref="service-port")
async def test_ports_of_two_clusters_are_united_and_conflict(driver: Driver) -> None:
    first, additional = service(), port("stcp", 142, "SCTP")
    await driver.set_up(first, exported=export())
    await driver.also_from_second(service(ports=[port("tcp", PORT), additional]))
    await ports_become(driver, [*first["spec"]["ports"], additional])
    await all_conflict(driver)


@pytest.mark.spec(
    "MCS-conformance#11: A ClusterIP service exported on two clusters with conflicting ports should apply the "
    "conflict resolution policy and report a Conflict condition on each ServiceExport",
    "Required",
)
@pytest.mark.labels("ClusterIP", ref="service-port")
async def test_of_conflicting_ports_the_oldest_is_imported(driver: Driver) -> None:
    first = service()
    await driver.set_up(first, exported=export())
    await driver.also_from_second(service(ports=[port("tcp", PORT + 1)]))
    await all_conflict(driver)
    await ports_become(driver, first["spec"]["ports"])


@pytest.mark.spec(
    "MCS-conformance#12: Exporting a headless service should create a ServiceImport of type Headless in the "
    "service's namespace in each cluster. Unexporting should delete the ServiceImport",
    "Required",
)
@pytest.mark.labels("Headless", ref="service-types")
async def test_a_headless_service_is_imported_everywhere_until_it_is_unexported(driver: Driver) -> None:
    await driver.set_up(service(clusterIP="None"), exported=export())
    await imported_until_unexported(driver, "Headless")


@pytest.mark.spec(
    "MCS-conformance#13: No clusterset IP should be allocated for a Headless ServiceImport", "Required"
)
@pytest.mark.labels("Headless", ref="clustersetip")
async def test_no_ip_is_allocated_for_a_headless_import(driver: Driver) -> None:
    await driver.set_up(service(clusterIP="None"), exported=export())
    await driver.imported(driver.members[0])

    def verify(found: Object | None) -> None:
        assert found is not None, "the ServiceImport is gone"
        require(not found["spec"].get("ips"), "a Headless ServiceImport has clusterset IPs")

    await driver.during_the_window(driver.members[0], verify, every=1)


@pytest.mark.spec(
    "MCS-conformance#14: Exporting an ExternalName service should set ServiceExport Valid condition to False",
    "Required",
)
@pytest.mark.labels("ExternalName", ref="service-types")
async def test_an_external_name_is_refused(driver: Driver) -> None:
    hello = service(type="ExternalName", externalName="example.com", ipFamilyPolicy=None)
    await driver.set_up(hello, exported=export())
    await driver.condition_becomes(driver.members[0], "Valid", "False")
    await driver.during_the_window(
        driver.members[0],
        lambda found: require(
            found is None, "the ServiceImport should not exist for an ExternalName service"
        ),
    )


@pytest.mark.spec(
    "MCS-conformance#15: A service exported on two clusters with conflicting headlessness should apply the "
    "conflict resolution policy and report a Conflict condition on the ServiceExport",
    "Required",
)
@pytest.mark.labels(ref="headlessness")
async def test_of_conflicting_types_the_oldest_is_imported(driver: Driver) -> None:
    await driver.set_up(exported=export())
    await driver.also_from_second(service(clusterIP="None"))
    await all_conflict(driver)
    await type_is_everywhere(driver, "ClusterSetIP")


async def type_is_everywhere(driver: Driver, kind: str) -> None:
    for member in driver.members:
        found = await driver.imported(member, is_required=True)
        message = f"ServiceImport on cluster {member.name!r} has type {found['spec']['type']!r}"
        require(found["spec"]["type"] == kind, message)


async def imported_until_unexported(driver: Driver, kind: str) -> None:
    await type_is_everywhere(driver, kind)
    await driver.unexport(driver.members[0])
    for member in driver.members:
        await driver.import_ends(member, f"the ServiceImport still exists on cluster {member.name!r}")


async def all_conflict(driver: Driver) -> None:
    for member in driver.members:
        await driver.condition_becomes(member, "Conflict", "True")


async def spec_matches(driver: Driver, hello: Object, *fields: str) -> None:
    def verify(found: Object) -> None:
        for field in fields:
            require(
                found["spec"].get(field) == hello["spec"][field],
                f"{field} of the ServiceImport does not match that of the exported Service",
            )

    await driver.imported(driver.members[0], verify)


async def ports_become(driver: Driver, wanted: Sequence[Object]) -> None:
    def verify(found: Object) -> None:
        ports = found["spec"]["ports"]
        require(judged(ports) == judged(wanted), f"The service ports were not resolved correctly: {ports}")

    await driver.imported(driver.members[0], verify)


def judged(ports: Sequence[Object]) -> list[tuple[str, str | None, int, str]]:
    """What is compared of ports, in an order of its own."""
    return sorted(
        (each.get("name", ""), each.get("protocol"), each["port"], each.get("appProtocol", ""))
        for each in ports
    )


def tells(found: Object, wanted: Mapping[str, Mapping[str, str]]) -> None:
    """See the import have the labels and annotations that an export's spec names."""
    metadata = found["metadata"]
    require(same_values(metadata.get("labels"), wanted["exportedLabels"]), "labels were not propagated")
    require(
        same_values(metadata.get("annotations"), wanted["exportedAnnotations"]),
        "annotations were not propagated",
    )
