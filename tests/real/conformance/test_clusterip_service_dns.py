"""Specifications 22 to 24 of MCS conformance: the DNS of a ClusterIP service, asked from pods.

They are those of the suite's clusterip_service_dns.go.
"""

from __future__ import annotations

import pytest

from tests.real.conformance.api import Object
from tests.real.conformance.dns_answers import srv_records
from tests.real.conformance.objects import HELLO, PORT, export
from tests.real.conformance.suite import DOMAIN, SERVICES, Driver, Member, require

pytestmark = [pytest.mark.nodes, pytest.mark.usefixtures("zone")]


@pytest.mark.spec(
    "MCS-conformance#22: A DNS lookup of the <service>.<ns>.svc.clusterset.local domain for a ClusterIP service "
    "should resolve to the clusterset IP",
    "Optional",
)
@pytest.mark.labels("DNS", "ClusterIP", ref="dns")
async def test_the_name_resolves_to_the_clusterset_ip(driver: Driver) -> None:
    await driver.set_up(exported=export())
    for member in driver.members:
        found = await driver.imported(member, has_an_ip)
        await says_all(driver, member, f"{HELLO}.{driver.namespace}.svc.{DOMAIN}", found["spec"]["ips"])


@pytest.mark.spec(
    "MCS-conformance#23: A DNS SRV query of the <service>.<ns>.svc.clusterset.local domain for a ClusterIP "
    "service should return valid SRV records",
    "Optional",
)
@pytest.mark.labels("DNS", "ClusterIP", ref="dns")
async def test_there_is_one_srv_record_for_one_port(driver: Driver) -> None:
    await driver.set_up(exported=export())
    name = f"{HELLO}.{driver.namespace}.svc.{DOMAIN}"
    for member in driver.members:
        found = await srv_records(driver, member, name)
        require(found == [(PORT, name)], f"{name} has the SRV records {found}")


@pytest.mark.spec(
    "MCS-conformance#24: DNS lookups of the <service>.<ns>.svc.cluster.local domain for a ClusterIP service should "
    "only resolve local services",
    "Optional",
)
@pytest.mark.labels("DNS", "ClusterIP", ref="dns")
async def test_the_local_name_resolves_to_the_local_service(driver: Driver) -> None:
    await driver.set_up(exported=export())
    first = driver.members[0]
    found = await first.api.get(SERVICES, driver.namespace, HELLO)
    assert found is not None
    name = f"{HELLO}.{driver.namespace}.svc.cluster.local"
    await says_all(driver, first, name, [found["spec"]["clusterIP"]])


def has_an_ip(found: Object) -> None:
    assert found["spec"].get("ips"), "ServiceImport does not contain an IP"


async def says_all(driver: Driver, member: Member, name: str, ips: list[str]) -> None:
    def verify(output: str) -> None:
        require(all(ip in output.split() for ip in ips), f"{name} does not resolve to {ips}: {output}")

    await driver.says(member, f"nslookup {name}.", verify)
