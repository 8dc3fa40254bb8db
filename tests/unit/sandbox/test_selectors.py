"""Label and field selectors against objects."""

import pytest

from mcs.sandbox.errors import StatusError
from mcs.sandbox.http.selectors import selection
from mcs.sandbox.resources import CONFIGMAPS, EVENTS, PODS
from mcs.sandbox.store import Object

POD: Object = {
    "metadata": {"name": "web-0", "namespace": "shop", "labels": {"app": "web", "tier": "front", "n": "5"}},
    "spec": {"nodeName": "node-1", "hostNetwork": True},
    "status": {"phase": "Running"},
}


@pytest.mark.parametrize(
    ("selector", "matches"),
    [
        ("", True),
        ("app=web", True),
        ("app==web", True),
        ("app=db", False),
        ("app!=db", True),
        ("missing!=x", True),
        ("app", True),
        ("missing", False),
        ("!missing", True),
        ("! app", False),
        ("app in (db, web)", True),
        ("app in (db)", False),
        ("app notin (db,api)", True),
        ("missing notin (db)", True),
        ("app notin (web)", False),
        ("n > 4", True),
        ("n<5", False),
        ("app=web,tier in (front),!missing", True),
        ("app=web,tier=back", False),
        ("missing=", False),
        ("kubernetes.io/metadata.name=x", False),
    ],
)
def test_label_selectors(selector: str, matches: bool) -> None:
    assert (POD in selection(PODS, None, selector, "")) is matches


@pytest.mark.parametrize(
    ("selector", "matches"),
    [
        ("metadata.name=web-0", True),
        ("metadata.name!=web-0", False),
        ("metadata.namespace=shop,status.phase=Running", True),
        ("spec.nodeName=node-2", False),
        ("spec.hostNetwork=true", True),
        ("status.podIP=", True),
    ],
)
def test_field_selectors(selector: str, matches: bool) -> None:
    assert (POD in selection(PODS, None, "", selector)) is matches


def test_events_are_selected_by_what_they_are_about() -> None:
    event: Object = {
        "metadata": {"name": "e", "namespace": "shop"},
        "involvedObject": {"kind": "Service", "name": "web"},
        "source": {"component": "mcs"},
    }
    wanted = "involvedObject.name=web,involvedObject.kind=Service,source=mcs"
    assert event in selection(EVENTS, "shop", "", wanted)
    assert event not in selection(EVENTS, "other", "", wanted)


@pytest.mark.parametrize(
    "selector", ["app in web", "app in (web", "a=b c", "=x", "a,,b", "n > few", "app~web"]
)
def test_what_is_no_label_selector_is_a_bad_request(selector: str) -> None:
    with pytest.raises(StatusError) as refused:
        selection(PODS, None, selector, "")
    assert (refused.value.code, refused.value.reason) == (400, "BadRequest")


def test_a_field_that_nobody_indexes_is_a_bad_request() -> None:
    with pytest.raises(StatusError, match=r"field label not supported: spec\.image"):
        selection(PODS, None, "", "spec.image=x")
    with pytest.raises(StatusError, match='"data" is not a known field selector'):
        selection(CONFIGMAPS, None, "", "data=x")
