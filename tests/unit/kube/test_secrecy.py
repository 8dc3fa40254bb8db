"""What is left out of texts of others, and what is not."""

import pytest

from mcs.kube.secrecy import redacted, without

JWT = "eyJhbGciOiJSUzI1NiIsImtpZCI6IngifQ.eyJzdWIiOiJzeXN0ZW0ifQ.c2lnbmF0dXJl-_x"
PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\nabc\n-----END RSA PRIVATE KEY-----"


@pytest.mark.parametrize(
    ("case", "text", "shown"),
    [
        ("a JSON web token", f"got {JWT} back", "got … back"),
        ("a token of another form", "refused sha256~Qx7yRz0123456789abcdefABCDEF", "refused sha256~…"),
        ("one that is named", "token: hunter2, try again", "token: …, try again"),
        ("one in JSON", '{"token":"hunter2"}', '{"token":…}'),
        ("a password", "password=hunter2", "password=…"),
        ("what a header carries", "Authorization: Bearer hunter2", "Authorization: Bearer …"),
        ("or another", "Basic aHVudGVyMg==", "Basic …"),
        ("the user of a URL", "http://me:hunter2@proxy:3128 fails", "http://…@proxy:3128 fails"),
        ("a key", f"bad key {PEM}", "bad key …"),
        ("a key that is cut off", PEM[:50], "…"),
    ],
)
def test_secrets_are_left_out(case: str, text: str, shown: str) -> None:
    assert redacted(text) == shown, case


@pytest.mark.parametrize(
    "text",
    [
        "east: its certificate is not accepted: self-signed certificate in certificate chain (_ssl.c:1006)",
        "Cannot connect to host api.east.example.com:6443 ssl:default [Connect call failed ('127.0.0.1', 6443)]",
        "file /etc/mcs/config-2026-production-cluster, context 'east': does not exist; check the path",
        'serviceimports.multicluster.x-k8s.io "web-0123456789" is forbidden: User "system:serviceaccount:mcs:hub"',
        'Service "demo/derived-0a1b2c3d4e" is invalid: spec.trafficDistribution: Unsupported value',
        "it ended with code 1: no session, log in",
    ],
)
def test_what_helps_to_find_the_mistake_stays(text: str) -> None:
    assert redacted(text) == text


def test_a_server_that_repeats_what_it_was_sent_tells_nothing() -> None:
    assert without(b"no: abcd-short", "Bearer abcd-short") == "no: …".encode()
    assert without(b"no: abcd", None) == b"no: abcd"
