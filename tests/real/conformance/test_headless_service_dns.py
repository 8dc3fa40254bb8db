"""Specifications 25 to 27 of MCS conformance: the DNS of a headless service, asked from pods.

They are those of the suite's headless_service_dns.go.
"""

from __future__ import annotations

import pytest

from tests.real.conformance.api import Object
from tests.real.conformance.dns_answers import resolves_to, srv_records
from tests.real.conformance.objects import HELLO, PORT, deployment, export, service, stateful_set
from tests.real.conformance.suite import DOMAIN, SOURCE_CLUSTER_LABEL, Driver, require

pytestmark = [pytest.mark.nodes, pytest.mark.usefixtures("zone")]

REPLICAS = 2


@pytest.mark.spec(
    "MCS-conformance#25: A DNS query of the <service>.<ns>.svc.clusterset.local domain for a headless service "
    "should return the ready endpoint addresses of all the backing pods",
    "Optional",
)
@pytest.mark.labels("DNS", "Headless", ref="dns")
async def test_the_name_has_the_addresses_of_all_ready_pods(driver: Driver) -> None:
    await driver.set_up(service(clusterIP="None"), deployment(REPLICAS), export())
    families = await driver.families(driver.members[0])
    endpoints = await driver.endpoints(driver.members[0], families, REPLICAS)
    for member in driver.members:
        await resolves_to(driver, member, f"{HELLO}.{driver.namespace}.svc.{DOMAIN}", set(endpoints))


@pytest.mark.spec(
    "MCS-conformance#26: A DNS query of the <hostname>.<clusterid>.<service>.<ns>.svc.clusterset.local domain for "
    "a headless StatefulSet service should return the requested pod's endpoint address",
    "Optional",
)
@pytest.mark.labels("DNS", "EndpointSlice", "Headless", ref="dns")
async def test_a_pod_of_a_stateful_set_has_a_name_of_its_own(driver: Driver) -> None:
    await driver.set_up(service(clusterIP="None"), stateful_set(REPLICAS), export())
    for member in driver.members:
        addresses: dict[str, set[str]] = {}
        for family in await driver.families(member):
            found = await driver.mcs_slice(member, family, names_all_pods)
            cluster_id = found["metadata"]["labels"][SOURCE_CLUSTER_LABEL]
            for each in found["endpoints"]:
                addresses.setdefault(f"{each['hostname']}.{cluster_id}", set()).update(each["addresses"])
        assert len(addresses) == REPLICAS
        for prefix, wanted in addresses.items():
            name = f"{prefix}.{HELLO}.{driver.namespace}.svc.{DOMAIN}"
            await resolves_to(driver, member, name, wanted)


@pytest.mark.spec(
    "MCS-conformance#27: A DNS SRV query of the <service>.<ns>.svc.clusterset.local domain for a headless service "
    "should return valid SRV records",
    "Optional",
)
@pytest.mark.labels("DNS", "Headless", ref="dns")
async def test_there_is_an_srv_record_for_each_address_of_a_pod(driver: Driver) -> None:
    await driver.set_up(service(clusterIP="None"), deployment(REPLICAS), export())
    name = f"{HELLO}.{driver.namespace}.svc.{DOMAIN}"
    families = await driver.families(driver.members[0])
    endpoints = await driver.endpoints(driver.members[0], families, REPLICAS)
    for member in driver.members:
        found = await srv_records(driver, member, name)
        require(len(found) == len(endpoints), f"not one SRV record for each of {endpoints}: {found}")
        for hostname in endpoints.values():
            ports = [port for port, target in found if target.startswith(hostname)]
            require(ports, f"SRV record for {hostname!r} not received, only {found}")
            require(set(ports) == {PORT}, f"SRV records for {hostname!r} have the ports {ports}")


def names_all_pods(found: Object) -> None:
    endpoints = found["endpoints"]
    require(len(endpoints) == REPLICAS, f"the MCS EndpointSlice has {len(endpoints)} endpoints")
    for each in endpoints:
        require(each["conditions"].get("ready", True), f"endpoint {each['addresses']} is not ready")
        require(each.get("hostname"), f"endpoint {each['addresses']} has no hostname")
