"""What becomes of an export's DNS preference: on mirrors, and in what the export is told."""

from typing import Any

import pytest
from msgspec.structs import replace

from mcs.model.actions import Apply
from mcs.model.multicluster import ServiceExport
from mcs.model.preference import (
    ANNOTATIONS,
    PREFERENCE_ANNOTATION,
    TRAFFIC_ANNOTATION,
    WEIGHT_ANNOTATION,
    Preference,
    preference_of,
)
from mcs.model.services import Service
from mcs.model.slices import EndpointSlice
from mcs.services.plan import plan_export, plan_target
from mcs.testing.builders import (
    export,
    exporter,
    headless,
    observed_export,
    observed_target,
    service,
    slice_,
)


@pytest.mark.parametrize(
    ("weight", "preference", "means"),
    [
        (None, None, Preference(100, 0)),
        ("7", None, Preference(7, 0)),
        ("0", None, Preference(0, 0)),
        ("65535", "65535", Preference(65535, 65535)),
        (None, "10", Preference(100, 10)),
        (None, "local", Preference(100, 0, is_local_first=True)),
        ("65536", "-1", Preference(100, 0)),
        ("1.5", "Local", Preference(100, 0)),
        ("", "", Preference(100, 0)),
        ("٣", "9" * 5000, Preference(100, 0)),
    ],
)
def test_annotations_mean(weight: str | None, preference: str | None, means: Preference) -> None:
    assert preference_of(export(weight=weight, preference=preference).metadata.annotations) == means


@pytest.mark.parametrize(
    "said", [Preference(), Preference(0, 3), Preference(7, 0, is_local_first=True), Preference(100, 65535)]
)
def test_what_is_said_is_understood(said: Preference) -> None:
    assert preference_of(said.annotations) == said


def mirrors(exported: Service, *, cluster: str = "c2", **said: Any) -> list[EndpointSlice]:
    source = exporter(cluster, exported, slice_("web-1", "10.2.0.5"), export_=export(**said))
    actions = plan_target(observed_target(source))
    return [
        each.object for each in actions if isinstance(each, Apply) and isinstance(each.object, EndpointSlice)
    ]


def carried(mirror: EndpointSlice) -> dict[str, str]:
    return {name: value for name, value in mirror.metadata.annotations.items() if name in ANNOTATIONS}


@pytest.mark.parametrize(
    ("case", "cluster", "said", "found"),
    [
        ("nothing said, nothing carried", "c2", {}, {}),
        ("a weight", "c2", {"weight": "7"}, {WEIGHT_ANNOTATION: "7"}),
        ("the default is not said", "c2", {"weight": "100", "preference": "0"}, {}),
        ("a number", "c2", {"preference": "010"}, {PREFERENCE_ANNOTATION: "10"}),
        ("local, in its own cluster", "c1", {"preference": "local"}, {PREFERENCE_ANNOTATION: "local"}),
        ("local, in any other", "c2", {"preference": "local"}, {}),
        ("what cannot be understood", "c2", {"weight": "many", "preference": "near"}, {}),
    ],
)
def test_mirrors_of_a_headless_service_carry(
    case: str, cluster: str, said: dict[str, str], found: dict[str, str]
) -> None:
    (mirror,) = mirrors(headless(), cluster=cluster, **said)
    assert carried(mirror) == found, case
    assert mirror.endpoints, case


def test_weight_0_takes_the_endpoints_of_a_cluster_from_a_virtual_ip() -> None:
    (mirror,) = mirrors(service(), weight="0", preference="3")
    assert (mirror.endpoints, carried(mirror)) == ((), {})
    (mirror,) = mirrors(service(), weight="7")
    assert (len(mirror.endpoints or ()), carried(mirror)) == (1, {})


def test_a_preference_that_changes_is_written_and_one_that_stays_is_not() -> None:
    (present,) = mirrors(headless(), weight="7")
    present = replace(present, metadata=replace(present.metadata, uid="u", resource_version="3"))

    def written(weight: str | None) -> list[str]:
        source = exporter("c2", headless(), slice_("web-1", "10.2.0.5"), export_=export(weight=weight))
        actions = plan_target(observed_target(source, mirrors=(present,)))
        return [each.resource.plural for each in actions if isinstance(each, Apply)]

    assert "endpointslices" not in written("7")
    assert "endpointslices" in written("8")
    assert "endpointslices" in written(None)


@pytest.mark.parametrize(
    ("exported", "said", "told"),
    [
        (headless(), {}, ""),
        (headless(), {"weight": "7", "preference": "local"}, ""),
        (headless(), {"weight": "0"}, f"{WEIGHT_ANNOTATION} 0 withholds the endpoints of this cluster."),
        (service(), {"weight": "0"}, f"{WEIGHT_ANNOTATION} 0 withholds the endpoints of this cluster."),
        (service(), {"weight": "7"}, "a virtual IP cannot weight"),
        (service(), {"preference": "local"}, "a virtual IP has no order"),
        (service(), {"preference": "3"}, "a virtual IP has no order"),
        (headless(), {"weight": "many"}, f'{WEIGHT_ANNOTATION} "many" is no number of 0 to 65535.'),
        (
            headless(),
            {"preference": "near"},
            f'{PREFERENCE_ANNOTATION} "near" is neither "local" nor a number of 0 to 65535.',
        ),
        (service(), {"traffic": "local"}, ""),
        (
            service(),
            {"traffic": "Local"},
            f'{TRAFFIC_ANNOTATION} "Local" is none of "local", "remote", "zone", "none". It is not heeded.',
        ),
        (
            headless(),
            {"traffic": "local"},
            f"local is not heeded: a headless Service has no virtual IP; use {PREFERENCE_ANNOTATION}.",
        ),
    ],
)
def test_an_export_is_told(exported: Service, said: dict[str, Any], told: str) -> None:
    source = exporter("c1", exported, export_=export(**said))
    (write, *_) = plan_export(observed_export(source, listed="c1"))
    assert isinstance(write, Apply)
    assert isinstance(write.object, ServiceExport)
    (valid,) = (each for each in write.object.status.conditions if each.type == "Valid")
    assert valid.status == "True"
    assert told in valid.message
    assert told or valid.message == "The Service can be exported."
