"""Which changes say how fast changes travel, and which would only say how long we were away."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from prometheus_client import CollectorRegistry

from mcs.controllers.propagation import Propagation
from mcs.model.actions import Apply
from mcs.model.meta import ObjectMeta
from mcs.model.multicluster import ServiceImport
from mcs.model.names import CHANGE_TIME_ANNOTATION, ClusterId
from mcs.model.resources import ENDPOINT_SLICES, SERVICE_IMPORTS
from mcs.model.slices import IPV4, EndpointSlice

START = datetime(2026, 1, 1, tzinfo=UTC)
WEST = ClusterId("west")


def _at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def _mirror(changed: str) -> EndpointSlice:
    return EndpointSlice(
        metadata=ObjectMeta(name="web-1", annotations={CHANGE_TIME_ANNOTATION: changed}), address_type=IPV4
    )


def _changed(seconds: float) -> str:
    return _at(seconds).isoformat()


@pytest.mark.parametrize(
    ("before", "after", "observed"),
    [
        pytest.param(None, _changed(90), 10.0, id="a new mirror"),
        pytest.param(_changed(50), _changed(97.5), 2.5, id="a mirror that carries a newer change"),
        pytest.param(_changed(90), _changed(90), None, id="a mirror rewritten for another reason"),
        pytest.param(None, _changed(-1), None, id="a change from before the process"),
        pytest.param(None, _changed(100.5), 0.0, id="a change in our future, by another clock"),
        pytest.param(None, "yesterday", None, id="no moment at all"),
        pytest.param(None, "", None, id="no change time"),
    ],
)
def test_a_change_is_observed_when_it_could_have_been_carried_on_at_once(
    before: str | None, after: str, observed: float | None
) -> None:
    now = START
    registry = CollectorRegistry()
    propagation = Propagation(registry, lambda: now)
    now = _at(100)
    old = None if before is None else _mirror(before)

    propagation.applied(
        Apply(cluster=WEST, resource=ENDPOINT_SLICES, object=_mirror(after)), old, _mirror(after)
    )
    propagation.answerable(WEST, old, _mirror(after))

    for stage in ("mirrored", "answerable"):
        labels = {"stage": stage, "cluster": "west"}
        assert registry.get_sample_value("mcs_propagation_seconds_sum", labels) == observed


def test_other_objects_and_mirrors_that_go_are_not_observed() -> None:
    registry = CollectorRegistry()
    propagation = Propagation(registry, lambda: START)
    imported = ServiceImport(metadata=ObjectMeta(annotations={CHANGE_TIME_ANNOTATION: _changed(0)}))

    propagation.applied(Apply(cluster=WEST, resource=SERVICE_IMPORTS, object=imported), None, imported)
    propagation.answerable(WEST, _mirror(_changed(0)), None)

    assert [sample for family in registry.collect() for sample in family.samples] == []
