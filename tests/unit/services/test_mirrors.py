"""What a mirror takes over from its source slice, and what not."""

import pytest
from msgspec.structs import replace

from mcs.model.actions import Action, Apply, Delete
from mcs.model.names import (
    CHANGE_TIME_ANNOTATION,
    MANAGED_BY,
    MANAGED_BY_LABEL,
    SERVICE_NAME_LABEL,
    SLICE_MANAGED_BY_LABEL,
    SLICE_SERVICE_LABEL,
    SOURCE_CLUSTER_LABEL,
    ServiceKey,
    derived_service_name,
    mirror_name,
)
from mcs.model.slices import (
    IPV6,
    AddressType,
    Endpoint,
    EndpointHints,
    EndpointPort,
    EndpointSlice,
    ForZone,
)
from mcs.services.observed import Exporter
from mcs.services.plan import plan_target
from mcs.testing.builders import (
    WEB,
    at,
    endpoint,
    exporter,
    headless,
    observed_target,
    service,
    slice_,
    slice_port,
)


def applied(actions: tuple[Action, ...]) -> list[EndpointSlice]:
    return [
        each.object for each in actions if isinstance(each, Apply) and isinstance(each.object, EndpointSlice)
    ]


def deleted(actions: tuple[Action, ...]) -> list[str]:
    return [
        each.name for each in actions if isinstance(each, Delete) and each.resource.plural == "endpointslices"
    ]


def mirrors_of(*exporters: Exporter) -> list[EndpointSlice]:
    return applied(plan_target(observed_target(*exporters)))


def mirror_of(source: EndpointSlice, cluster: str = "c2") -> EndpointSlice:
    (mirror,) = mirrors_of(exporter(cluster, service(), source))
    return mirror


def present(mirror: EndpointSlice, uid: str = "u1", **labels: str) -> EndpointSlice:
    metadata = replace(
        mirror.metadata, uid=uid, resource_version="7", labels={**mirror.metadata.labels, **labels}
    )
    return replace(mirror, metadata=metadata)


def test_name_labels_and_change_time_of_a_mirror() -> None:
    mirror = mirror_of(
        slice_("web-1", "10.2.0.5", annotations={CHANGE_TIME_ANNOTATION: "2026-01-01T00:00:01.5Z"})
    )
    assert mirror.metadata.name == mirror_name(exporter("c2").cluster, WEB, "web-1", "IPv4")
    assert mirror.metadata.namespace == "demo"
    assert mirror.metadata.labels == {
        SERVICE_NAME_LABEL: "web",
        SOURCE_CLUSTER_LABEL: "c2",
        SLICE_MANAGED_BY_LABEL: MANAGED_BY,
        MANAGED_BY_LABEL: MANAGED_BY,
        SLICE_SERVICE_LABEL: derived_service_name(WEB),
    }
    assert mirror.metadata.annotations == {CHANGE_TIME_ANNOTATION: "2026-01-01T00:00:01.5Z"}


@pytest.mark.parametrize(
    ("case", "changed", "exported", "told"),
    [
        ("a change of an exported service", at(50), 20, at(50)),
        ("a change from before the export counts from the export", at(50), 70, at(70)),
        ("fractions count", "2026-01-01T00:00:50.5Z", 50, "2026-01-01T00:00:50.5Z"),
    ],
)
def test_a_mirror_carries_since_when_its_state_is_shared(
    case: str, changed: str, exported: float, told: str
) -> None:
    source = slice_("web-1", "10.2.0.5", annotations={CHANGE_TIME_ANNOTATION: changed})
    (mirror,) = mirrors_of(exporter("c2", service(), source, created=exported))
    assert mirror.metadata.annotations == {CHANGE_TIME_ANNOTATION: told}, case


@pytest.mark.parametrize("annotations", [{}, {CHANGE_TIME_ANNOTATION: "lately"}])
def test_a_change_whose_time_is_not_told_has_none(annotations: dict[str, str]) -> None:
    mirror = mirror_of(slice_("web-1", "10.2.0.5", annotations=annotations))
    assert mirror.metadata.annotations == {}


def test_a_mirror_of_a_headless_service_is_no_business_of_kube_proxy() -> None:
    (mirror,) = mirrors_of(exporter("c2", headless(), slice_("web-1", "10.2.0.5")))
    assert SLICE_SERVICE_LABEL not in mirror.metadata.labels


HINTED = Endpoint(
    addresses=("10.2.0.5",),
    hostname="web-0",
    zone="z1",
    node_name="n1",
    hints=EndpointHints(for_zones=(ForZone(name="z1"),)),
)


@pytest.mark.parametrize(
    ("case", "cluster", "source", "mirrored"),
    [
        (
            "hostname and zone are taken over, the node of another cluster and hints are not",
            "c2",
            HINTED,
            [endpoint("10.2.0.5", ready=None, hostname="web-0", zone="z1")],
        ),
        (
            "the target's own endpoints keep their node",
            "c1",
            HINTED,
            [endpoint("10.2.0.5", ready=None, hostname="web-0", zone="z1", node="n1")],
        ),
        (
            "C2: an endpoint that is not ready stays so",
            "c2",
            endpoint("10.2.0.5", ready=False, serving=True, terminating=True),
            [endpoint("10.2.0.5", ready=False, serving=True, terminating=True)],
        ),
        ("F1: a loopback address is dropped, and its endpoint with it", "c2", endpoint("127.0.0.1"), []),
        (
            "other addresses of an endpoint stay",
            "c2",
            endpoint("127.0.0.1", "10.2.0.5"),
            [endpoint("10.2.0.5")],
        ),
        ("an address of another family is dropped", "c2", endpoint("fd00::5"), []),
        (
            "a hostname that is no label would make every write fail and is dropped",
            "c2",
            endpoint("10.2.0.5", hostname="Web_0"),
            [endpoint("10.2.0.5")],
        ),
    ],
)
def test_endpoints(case: str, cluster: str, source: Endpoint, mirrored: list[Endpoint]) -> None:
    assert list(mirror_of(slice_("web-1", source), cluster).endpoints or ()) == mirrored, case


@pytest.mark.parametrize(
    ("case", "sources", "count"),
    [
        ("an IPv6 slice", [slice_("a", "fd00::5", family=IPV6)], 1),
        ("C13: slice boundaries are kept", [slice_("a", "10.2.0.5"), slice_("b", "10.2.0.6")], 2),
        ("an empty slice", [slice_("a")], 1),
        ("FQDN slices are not mirrored", [slice_("a", "x.example.com", family=AddressType("FQDN"))], 0),
        ("slices of another Service are not", [slice_("a", "10.2.0.5", key=ServiceKey("demo", "api"))], 0),
        ("slices of another namespace are not", [slice_("a", "10.2.0.5", key=ServiceKey("demo2", "web"))], 0),
    ],
)
def test_which_slices_are_mirrored(case: str, sources: list[EndpointSlice], count: int) -> None:
    assert len(mirrors_of(exporter("c2", service(), *sources))) == count, case


def test_c5_a_mirror_is_not_mirrored_again() -> None:
    assert mirrors_of(exporter("c2", service(), mirror_of(slice_("web-1", "10.3.0.5"), "c3"))) == []


def test_both_families_of_a_slice_name_have_mirrors_of_their_own() -> None:
    names = [
        each.metadata.name
        for each in mirrors_of(exporter("c2", service(), slice_("a"), slice_("a", family=IPV6)))
    ]
    assert len(set(names)) == 2


def test_an_address_of_an_older_source_is_written_as_the_target_takes_it() -> None:
    mirror = mirror_of(slice_("web-1", "fd00:2:0::5", family=IPV6))
    assert mirror.endpoints == (endpoint("fd00:2::5"),)


SOURCE = slice_("web-1", endpoint("10.2.0.5", hostname="web-0", zone="z1"))


@pytest.mark.parametrize(
    ("case", "source", "is_rewritten"),
    [
        ("the same", SOURCE, False),
        (
            "only the change time is another",
            replace(
                SOURCE,
                metadata=replace(
                    SOURCE.metadata, annotations={CHANGE_TIME_ANNOTATION: at(50)}, resource_version="9"
                ),
            ),
            False,
        ),
        (
            "C3: readiness",
            slice_("web-1", endpoint("10.2.0.5", ready=False, hostname="web-0", zone="z1")),
            True,
        ),
        ("C3: hostname", slice_("web-1", endpoint("10.2.0.5", hostname="web-1", zone="z1")), True),
        ("C3: zone", slice_("web-1", endpoint("10.2.0.5", hostname="web-0", zone="z2")), True),
        ("C3: port number", replace(SOURCE, ports=(slice_port("http 8081"),)), True),
        (
            "C3: appProtocol",
            replace(SOURCE, ports=(replace(slice_port("http 8080"), app_protocol="http"),)),
            True,
        ),
        (
            "an address more",
            replace(SOURCE, endpoints=(*(SOURCE.endpoints or ()), endpoint("10.2.0.6"))),
            True,
        ),
        (
            "the order of a serving flag",
            slice_("web-1", endpoint("10.2.0.5", serving=True, hostname="web-0", zone="z1")),
            True,
        ),
        (
            "a node of another cluster",
            slice_("web-1", endpoint("10.2.0.5", hostname="web-0", zone="z1", node="n")),
            False,
        ),
    ],
)
def test_a_mirror_is_rewritten_when_its_meaning_changed(
    case: str, source: EndpointSlice, is_rewritten: bool
) -> None:
    observed = observed_target(exporter("c2", service(), source), mirrors=(present(mirror_of(SOURCE)),))
    assert bool(applied(plan_target(observed))) is is_rewritten, case


def test_what_kubernetes_stores_for_empty_lists_is_no_difference() -> None:
    stored = replace(present(mirror_of(slice_("web-1", ports=()))), endpoints=None, ports=None)
    observed = observed_target(exporter("c2", service(), slice_("web-1", ports=())), mirrors=(stored,))
    assert applied(plan_target(observed)) == []


def test_b6_a_stored_port_without_name_is_unnamed() -> None:
    source = slice_("web-1", "10.2.0.5", ports=(slice_port("8080"),))
    (mirror,) = mirrors_of(exporter("c2", service(WEB, "80"), source))
    assert [each.name for each in mirror.ports or ()] == [""]
    stored = replace(present(mirror), ports=(EndpointPort(protocol="TCP", port=8080),))
    observed = observed_target(exporter("c2", service(WEB, "80"), source), mirrors=(stored,))
    assert applied(plan_target(observed)) == []


def test_labels_that_others_put_on_a_mirror_are_no_difference_but_ours_are() -> None:
    observed = observed_target(
        exporter("c2", service(), SOURCE), mirrors=(present(mirror_of(SOURCE), theirs="1"),)
    )
    assert applied(plan_target(observed)) == []
    wrong = present(mirror_of(SOURCE), **{SOURCE_CLUSTER_LABEL: "c3"})
    observed = observed_target(exporter("c2", service(), SOURCE), mirrors=(wrong,))
    assert len(applied(plan_target(observed))) == 1


@pytest.mark.parametrize(
    ("case", "stored", "seen", "is_deleted"),
    [
        ("the source slice is gone", present(mirror_of(SOURCE)), "c1 c2", True),
        ("its cluster cannot be seen", present(mirror_of(SOURCE)), "c1", False),
        ("somebody else manages it", present(mirror_of(SOURCE), **{MANAGED_BY_LABEL: "x"}), "c1 c2", False),
        (
            "another controller fills it",
            present(mirror_of(SOURCE), **{SLICE_MANAGED_BY_LABEL: "x"}),
            "c1 c2",
            False,
        ),
        (
            "its source cluster is not told",
            present(mirror_of(SOURCE), **{SOURCE_CLUSTER_LABEL: ""}),
            "c1 c2",
            False,
        ),
    ],
)
def test_a_mirror_is_deleted_when(case: str, stored: EndpointSlice, seen: str, is_deleted: bool) -> None:
    for exporters in ((), (exporter("c2", service()),)):
        observed = observed_target(*exporters, seen=seen, mirrors=(stored,))
        assert bool(deleted(plan_target(observed))) is is_deleted, case


def test_c12_a_mirror_that_is_going_already_is_let_go() -> None:
    going = present(mirror_of(SOURCE))
    going = replace(going, metadata=replace(going.metadata, deletion_timestamp=at(50)))
    assert deleted(plan_target(observed_target(mirrors=(going,)))) == []
    observed = observed_target(exporter("c2", service(), slice_("web-1", "10.2.0.9")), mirrors=(going,))
    assert applied(plan_target(observed)) == []


def test_a_delete_is_for_the_object_that_was_seen() -> None:
    (action,) = plan_target(observed_target(mirrors=(present(mirror_of(SOURCE), uid="u9"),)))
    assert isinstance(action, Delete)
    assert (action.uid, action.resource_version) == ("u9", "7")


def test_a_slice_of_somebody_else_under_the_name_of_a_mirror_is_left_alone() -> None:
    theirs = present(mirror_of(SOURCE), **{MANAGED_BY_LABEL: "x"})
    observed = observed_target(exporter("c2", service(), slice_("web-1", "10.2.0.9")), mirrors=(theirs,))
    assert applied(plan_target(observed)) == []
