"""Which error an answer of an API server stands for."""

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec import Raw

from mcs.kube import errors
from mcs.kube.errors import (
    LONGEST_RETRY_AFTER,
    ApiError,
    ConfigError,
    NamespaceTerminating,
    ResourceVersionTooLarge,
    error_of,
)


def status(code: int, reason: str = "", *causes: str, **more: Any) -> bytes:
    details = {"causes": [{"reason": cause} for cause in causes]} if causes else {}
    return json.dumps(
        {"kind": "Status", "apiVersion": "v1", "code": code, "reason": reason, "details": details, **more}
    ).encode()


@pytest.mark.parametrize(
    ("sentence", "code", "body", "expected"),
    [
        ("an object does not exist", 404, status(404, "NotFound"), errors.NotFound),
        ("the CRD is missing", 404, b"404 page not found\n", errors.ResourceMissing),
        ("a 404 of something before the API server", 404, b"<html>", errors.ResourceMissing),
        ("our picture was old", 409, status(409, "Conflict"), errors.Conflict),
        ("another manager owns it", 409, status(409, "Conflict", "FieldManagerConflict"), errors.Conflict),
        ("a create of what exists", 409, status(409, "AlreadyExists"), errors.AlreadyExists),
        ("the history was compacted", 410, status(410, "Expired"), errors.Expired),
        ("older servers call it Gone", 410, status(410, "Gone"), errors.Expired),
        ("the server went back", 504, status(504, "Timeout", "ResourceVersionTooLarge"), ResourceVersionTooLarge),
        ("an ordinary timeout", 504, status(504, "Timeout"), errors.ServerError),
        ("bad token", 401, status(401, "Unauthorized"), errors.Unauthorized),
        ("no right", 403, status(403, "Forbidden"), errors.Forbidden),
        ("namespace on its way out", 403, status(403, "Forbidden", "NamespaceTerminating"), NamespaceTerminating),
        ("a value is wrong", 422, status(422, "Invalid", "FieldValueInvalid"), errors.Invalid),
        ("a body is wrong", 400, status(400, "BadRequest"), errors.Invalid),
        ("too many", 429, b"", errors.TooManyRequests),
        ("server broken", 500, status(500, "InternalError"), errors.ServerError),
        (
            "an apply of a field that is newer than the server",
            500,
            status(500, message=".spec.new: field not declared in schema"),
            errors.Invalid,
        ),
        (
            "an apply of a value of another type",
            500,
            status(500, message="failed to create typed patch object (/x; v1): .data.a: expected string, got 5"),
            errors.Invalid,
        ),
        ("proxy broken", 502, b"<html>bad gateway</html>", errors.ServerError),
        ("anything else", 415, status(415, "UnsupportedMediaType"), ApiError),
        ("a redirect is no answer", 302, b"", ApiError),
    ],
)  # fmt: skip
def test_an_answer_becomes_its_error(sentence: str, code: int, body: bytes, expected: type[ApiError]) -> None:
    error = error_of(code, {}, body)
    assert type(error) is expected, sentence
    assert error.code == code


def test_the_code_of_the_status_goes_before_that_of_the_transport() -> None:
    error = error_of(500, {}, Raw(status(410, "Expired", message="too old resource version")))
    assert type(error) is errors.Expired
    assert (error.code, error.message) == (410, "too old resource version")


@pytest.mark.parametrize(
    ("header", "details", "seconds"),
    [
        ("7", {}, 7.0),
        ("", {"retryAfterSeconds": 3}, 3.0),
        ("7", {"retryAfterSeconds": 3}, 7.0),
        ("Wed, 21 Oct 2026 07:28:00 GMT", {}, None),
        ("-1", {}, None),
        ("86400", {}, LONGEST_RETRY_AFTER),
        ("9" * 5000, {}, LONGEST_RETRY_AFTER),
        ("", {"retryAfterSeconds": -3}, None),
        ("", {}, None),
    ],
)
def test_how_long_to_wait(header: str, details: dict[str, int], seconds: float | None) -> None:
    headers = {"Retry-After": header} if header else {}
    assert error_of(429, headers, status(429, "TooManyRequests", details=details)).retry_after == seconds


def test_causes_are_kept() -> None:
    causes = [{"reason": "FieldManagerConflict", "field": ".spec.ports", "message": "conflict with x"}]
    error = error_of(409, {}, status(409, "Conflict", details={"causes": causes}))
    assert error.causes == (("FieldManagerConflict", ".spec.ports", "conflict with x"),)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"null",
        b"[]",
        b"\xff\xfe",
        b'{"kind":"Status","code":"x"}',
        b'{"kind":"Status","details":{"causes":null}}',
    ],
)
def test_any_body_gives_an_error_and_no_exception(body: bytes) -> None:
    assert error_of(503, {}, body).code == 503


def test_a_config_error_names_file_and_context() -> None:
    text = str(ConfigError("do this", file=Path("/x/config"), context="east"))
    assert text == "file /x/config, context 'east': do this"
