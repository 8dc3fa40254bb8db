"""What somebody changed in a member, and who."""

from __future__ import annotations

from typing import Any

import pytest

from mcs.federation.drift import Drifted, drift_message, drifted

Json = dict[str, Any]
WEB = {"name": "web", "image": "web:1", "args": ["a"]}
DESIRED: Json = {
    "metadata": {"labels": {"app": "web"}},
    "spec": {"replicas": 2, "template": {"spec": {"containers": [WEB]}}},
}


def present(
    replicas: int | None = 2, container: Json | None = None, managed: list[Json] | None = None
) -> Json:
    spec: Json = {"template": {"spec": {"containers": [container or WEB]}}, "paused": False}
    if replicas is not None:
        spec["replicas"] = replicas
    metadata = {"labels": {"app": "web", "own": "1"}, "managedFields": managed or []}
    return {"metadata": metadata, "spec": spec}


def by(manager: str, fields: Json) -> Json:
    return {"manager": manager, "operation": "Update", "fieldsV1": fields}


CONTAINER = 'k:{"name":"web"}'
IMAGE: Json = {
    "f:spec": {"f:template": {"f:spec": {"f:containers": {CONTAINER: {"f:image": {}}}}}},
}
OTHER_IMAGE = WEB | {"image": "web:2"}
IMAGE_PATH = "spec.template.spec.containers[name=web].image"


@pytest.mark.parametrize(
    ("case", "there", "expected"),
    [
        ("all is as it should be, and more", present(), []),
        ("a number", present(3), [("spec.replicas", ())]),
        ("a field that is gone", present(None), [("spec.replicas", ())]),
        (
            "who has set it",
            present(3, managed=[by("kubectl-edit", {"f:spec": {"f:replicas": {}}})]),
            [("spec.replicas", ("kubectl-edit",))],
        ),
        (
            "who has set something else",
            present(3, managed=[by("kubectl-edit", {"f:spec": {"f:paused": {}}})]),
            [("spec.replicas", ())],
        ),
        (
            "we are nobody else",
            present(3, managed=[by("mcs-controller", {"f:spec": {"f:replicas": {}}})]),
            [("spec.replicas", ())],
        ),
        (
            "an item of a list goes by its name",
            present(2, OTHER_IMAGE, [by("kubectl-set", IMAGE)]),
            [(IMAGE_PATH, ("kubectl-set",))],
        ),
        (
            "a list without names is told whole",
            present(2, WEB | {"args": ["b"]}),
            [("spec.template.spec.containers[name=web].args", ())],
        ),
        (
            "several fields, several owners",
            present(
                3,
                OTHER_IMAGE,
                [by("b", IMAGE), by("a", IMAGE), by("c", {"f:spec": {"f:replicas": {}}})],
            ),
            [("spec.replicas", ("c",)), (IMAGE_PATH, ("a", "b"))],
        ),
        (
            "the item is gone",
            present(2, {"name": "other"}),
            [("spec.template.spec.containers[name=web]", ())],
        ),
        ("what was a map is none", present() | {"spec": "?"}, [("spec", ())]),
    ],
)
def test_what_differs_and_who_says_so(
    case: str, there: Json, expected: list[tuple[str, tuple[str, ...]]]
) -> None:
    assert drifted(DESIRED, there) == tuple(Drifted(*each) for each in expected), case


def test_a_message_names_few_fields() -> None:
    fields = tuple(Drifted(f"spec.{each}", ("kubectl",)) for each in "abcde")
    assert drift_message(fields) == (
        "Somebody had changed spec.a (kubectl), spec.b (kubectl), spec.c (kubectl) and 2 more there; it was set back."
    )
    assert drift_message(()) == ""
