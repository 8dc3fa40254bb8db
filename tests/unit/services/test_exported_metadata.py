"""Which exported labels and annotations an import can carry."""

import pytest

from mcs.model.names import DERIVED_SERVICE_ANNOTATION, EXPORTED_KEYS_ANNOTATION, MANAGED_BY_LABEL
from mcs.services.exported_metadata import exported_metadata
from mcs.testing.builders import export, exporter, service
from mcs.testing.simulated_target import settled_target


@pytest.mark.parametrize(
    ("case", "key", "value", "taken"),
    [
        ("a plain label", "a", "1", True),
        ("a prefixed label", "example.com/tier", "web", True),
        ("an empty value", "a", "", True),
        ("a value with a blank", "a", "not a value", False),
        ("a value of 63 characters", "a", "x" * 63, True),
        ("a value of 64 characters", "a", "x" * 64, False),
        ("a key of 64 characters", "x" * 64, "1", False),
        ("a key with a blank", "bad key", "1", False),
        ("a key with nothing before the slash", "/a", "1", False),
        ("a key with nothing after the slash", "example.com/", "1", False),
        ("a key with two slashes", "example.com/a/b", "1", False),
        ("a value that ends in a dash", "a", "x-", False),
        ("a value that ends in a newline", "a", "x\n", False),
        ("our own label cannot be taken over", MANAGED_BY_LABEL, "helm", False),
    ],
)
def test_labels(case: str, key: str, value: str, taken: bool) -> None:
    found = exported_metadata(export(labels={"good": "1", key: value}))
    assert found.labels == ({"good": "1", key: value} if taken else {"good": "1"}), case
    assert bool(found.refused) is not taken, case


@pytest.mark.parametrize(
    ("case", "key", "taken"),
    [
        ("a plain annotation", "a", True),
        ("a key in capitals before the slash", "Example.com/a", True),
        ("a bad key", "bad key", False),
        ("the name of the derived Service is ours to say", DERIVED_SERVICE_ANNOTATION, False),
        ("so is what we remember", EXPORTED_KEYS_ANNOTATION, False),
    ],
)
def test_annotations(case: str, key: str, taken: bool) -> None:
    found = exported_metadata(export(annotations={key: "any text\nat all"}))
    assert bool(found.annotations) is taken, case
    assert bool(found.refused) is not taken, case


def test_what_is_refused_is_named() -> None:
    found = exported_metadata(export(labels={"bad key": "1"}, annotations={"worse key": "1"}))
    assert found.refused == ('label "bad key" is no valid key', 'annotation "worse key" is no valid key')


def test_annotations_beyond_what_an_object_can_carry_are_left_out_whole() -> None:
    found = exported_metadata(export(annotations={"a": "x" * 200_000, "b": "x" * 200_000}))
    assert found.annotations == {}
    assert found.refused == ("the annotations and all keys are together larger than 255 KiB",)


@pytest.mark.parametrize(
    ("labels", "annotations"),
    [
        ({}, {"a": "x" * (255 * 1024 - 3)}),
        ({}, {"a": "x" * (256 * 1024 - 20)}),
        ({}, {f"{number}": "x" * 1000 for number in range(258)}),
        ({}, {f"{number}": "x" for number in range(50_000)}),
        ({f"{number:060}": "1" for number in range(3000)}, {"a": "x" * 100_000}),
        ({f"{number:060}": "1" for number in range(5000)}, {"a": "1"}),
    ],
)
def test_an_import_never_has_more_annotations_than_an_object_can_carry(
    labels: dict[str, str], annotations: dict[str, str]
) -> None:
    imported = settled_target(
        exporter("c1", service(), export_=export(labels=labels, annotations=annotations))
    ).service_import
    assert imported is not None
    carried = imported.metadata.annotations
    assert sum(len(key) + len(value) for key, value in carried.items()) <= 256 * 1024
