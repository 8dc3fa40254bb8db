"""What names mean in the zone's schema."""

import pytest

from mcs.model.names import ServiceKey
from mcs_dns.query import (
    Apex,
    Asked,
    EmptyNonTerminal,
    EndpointName,
    NameServer,
    NamespaceName,
    NoSuchName,
    OtherZone,
    PortName,
    SchemaVersion,
    ServiceName,
    asked_for,
)

WEB = ServiceKey("demo", "web")
ORIGIN = ("clusterset", "local")


@pytest.mark.parametrize(
    ("name", "asked"),
    [
        ("clusterset.local", Apex()),
        ("local", OtherZone()),
        ("cluster.local", OtherZone()),
        ("web.demo.svc.cluster.local", OtherZone()),
        ("1.0.10.in-addr.arpa", OtherZone()),
        ("dns-version.clusterset.local", SchemaVersion()),
        ("svc.clusterset.local", EmptyNonTerminal()),
        ("dns.clusterset.local", EmptyNonTerminal()),
        ("ns.dns.clusterset.local", NameServer()),
        ("x.ns.dns.clusterset.local", NoSuchName()),
        ("pod.clusterset.local", NoSuchName()),
        ("demo.svc.clusterset.local", NamespaceName("demo")),
        ("web.demo.svc.clusterset.local", ServiceName(WEB)),
        ("_tcp.web.demo.svc.clusterset.local", PortName(WEB, "", "tcp")),
        ("_http._tcp.web.demo.svc.clusterset.local", PortName(WEB, "http", "tcp")),
        ("_._tcp.web.demo.svc.clusterset.local", NoSuchName()),
        ("x._http._tcp.web.demo.svc.clusterset.local", EndpointName(WEB, ("x", "_http", "_tcp"))),
        ("c1.web.demo.svc.clusterset.local", EndpointName(WEB, ("c1",))),
        ("web-0.c1.web.demo.svc.clusterset.local", EndpointName(WEB, ("web-0", "c1"))),
        ("web-0.c1.eu.web.demo.svc.clusterset.local", EndpointName(WEB, ("web-0", "c1", "eu"))),
        ("a.web-0.c1.eu.web.demo.svc.clusterset.local", NoSuchName()),
        ("svc.svc.svc.clusterset.local", ServiceName(ServiceKey("svc", "svc"))),
    ],
)
def test_a_name_means_one_thing(name: str, asked: Asked) -> None:
    assert asked_for(tuple(name.split(".")), ORIGIN) == asked


def test_the_root_is_another_zone() -> None:
    assert asked_for((), ORIGIN) == OtherZone()
