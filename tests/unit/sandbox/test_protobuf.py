"""What `kubectl create` sends is read whole or refused; no bytes do anything else."""

from __future__ import annotations

import base64
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcs.sandbox.http.protobuf import PREFIX, UndecodableError, decoded


def number(field: int, value: int) -> bytes:
    """A field of wire type 0."""
    return varint(field << 3) + varint(value % (1 << 64))


def varint(value: int) -> bytes:
    low, high = value & 0x7F, value >> 7
    return bytes([low | 0x80]) + varint(high) if high else bytes([low])


def part(field: int, value: bytes | str) -> bytes:
    """A field of wire type 2."""
    data = value.encode() if isinstance(value, str) else value
    return varint(field << 3 | 2) + varint(len(data)) + data


def entry(field: int, key: str, value: bytes | str) -> bytes:
    """One entry of a map."""
    return part(field, part(1, key) + part(2, value))


def enveloped(api_version: str, kind: str, raw: bytes) -> bytes:
    names = part(1, api_version) + part(2, kind)
    return PREFIX + part(1, names) + part(2, raw) + part(3, "") + part(4, "")


def meta(name: str) -> bytes:
    """Metadata as Go writes it: with its empty fields and a time that was never set."""
    empty = part(2, "") + part(3, "") + part(4, "") + number(7, 0)
    return part(1, part(1, name) + empty + part(8, number(1, 0) + number(2, 0)))


CONTAINER = (
    part(1, "x") + part(2, "image") + part(5, "") + part(6, part(1, "") + number(2, 0) + number(3, 8080))
)
TEMPLATE = part(1, entry(11, "app", "x")) + part(2, part(2, CONTAINER + part(8, b"")) + number(11, 0))

OBJECTS: dict[str, tuple[bytes, dict[str, Any]]] = {
    "a namespace": (
        enveloped("v1", "Namespace", meta("a") + part(2, b"") + part(3, part(1, "Active"))),
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a"}},
    ),
    "a config map with an empty value": (
        enveloped("v1", "ConfigMap", meta("a") + entry(2, "one", "1") + entry(2, "none", "") + number(4, 1)),
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "a"},
            "data": {"one": "1", "none": ""},
            "immutable": True,
        },
    ),
    "a secret": (
        enveloped("v1", "Secret", meta("a") + entry(2, "key", b"\xff\x00") + part(3, "Opaque")),
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": "a"},
            "data": {"key": base64.b64encode(b"\xff\x00").decode()},
            "type": "Opaque",
        },
    ),
    "a service with target ports by number and by name": (
        enveloped(
            "v1",
            "Service",
            meta("a")
            + part(
                2,
                part(1, number(3, 80) + part(4, number(1, 0) + number(2, 8080) + part(3, "")))
                + part(1, number(3, 443) + part(4, number(1, 1) + number(2, 0) + part(3, "https")))
                + entry(2, "app", "x"),
            ),
        ),
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": "a"},
            "spec": {
                "ports": [{"port": 80, "targetPort": 8080}, {"port": 443, "targetPort": "https"}],
                "selector": {"app": "x"},
            },
        },
    ),
    "a deployment with no replicas": (
        enveloped(
            "apps/v1",
            "Deployment",
            meta("a")
            + part(
                2, number(1, 0) + part(2, entry(1, "app", "x")) + part(3, TEMPLATE) + part(4, part(1, ""))
            ),
        ),
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "a"},
            "spec": {
                "replicas": 0,
                "selector": {"matchLabels": {"app": "x"}},
                "template": {
                    "metadata": {"labels": {"app": "x"}},
                    "spec": {
                        "containers": [
                            {"name": "x", "image": "image", "ports": [{"containerPort": 8080}]},
                        ]
                    },
                },
            },
        },
    ),
    "a negative number": (
        enveloped("apps/v1", "Deployment", part(2, number(1, -1))),
        {"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"replicas": -1}},
    ),
}


@pytest.mark.parametrize("what", OBJECTS)
def test_an_object_is_read_without_what_is_empty(what: str) -> None:
    body, obj = OBJECTS[what]
    assert decoded(body) == obj


REFUSED: dict[str, bytes] = {
    "nothing": b"",
    "JSON": b'{"kind": "Namespace"}',
    "no envelope": PREFIX,
    "a kind that is not read": enveloped("v1", "Pod", meta("a")),
    "a kind of another group": enveloped("apps/v1", "Namespace", meta("a")),
    "a field that would be lost": enveloped("v1", "Namespace", meta("a") + part(9, "value")),
    "a field within that would be lost": enveloped("v1", "Namespace", part(1, part(5, "a-uid"))),
    "a flag that would be lost": enveloped(
        "apps/v1", "Deployment", part(2, part(3, part(2, part(2, CONTAINER) + number(11, 1))))
    ),
    "a number for a name": enveloped("v1", "Namespace", part(1, number(1, 5))),
    "text for a number": enveloped("apps/v1", "Deployment", part(2, part(1, "two"))),
    "text that is not UTF-8": enveloped("v1", "Namespace", part(1, part(1, b"\xff"))),
    "an end within a field": enveloped("v1", "Namespace", part(1, part(1, "ab")[:-1])),
    "a number without end": PREFIX + b"\x08" + b"\xff" * 8,
    "a number of too many bits": enveloped(
        "apps/v1", "Deployment", part(2, b"\x08" + b"\xff" * 10 + b"\x01")
    ),
    "a group": PREFIX + b"\x0b\x0c",
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_would_not_be_read_whole_is_refused(what: str) -> None:
    with pytest.raises(UndecodableError):
        decoded(REFUSED[what])


@given(st.binary(max_size=200), st.sampled_from([("v1", "Service"), ("apps/v1", "Deployment")]))
def test_any_bytes_are_an_object_or_refused(raw: bytes, kind: tuple[str, str]) -> None:
    for body in (PREFIX + raw, enveloped(*kind, raw)):
        with suppress(UndecodableError):
            assert isinstance(decoded(body), dict)


@given(st.integers(min_value=0), st.binary(min_size=1, max_size=3))
def test_a_damaged_object_is_an_object_or_refused(at: int, damage: bytes) -> None:
    for body, _ in OBJECTS.values():
        place = len(PREFIX) + at % (len(body) - len(PREFIX))
        with suppress(UndecodableError):
            assert isinstance(decoded(body[:place] + damage + body[place + len(damage) :]), dict)
