"""Keeps secrets out of what is told: whatever text of others goes into an error passes here first.

Credential plugins write tokens to standard error, libraries print URLs with passwords, servers repeat what they were
sent. None of them says which part is secret, so what looks like it is left out; too much rather than too little.
"""

import re

HIDDEN = "…"

_PATTERNS = (
    (re.compile(r"-----BEGIN [A-Z ]*-----.*?(?:-----END [A-Z ]*-----|$)", re.DOTALL), HIDDEN),
    (re.compile(r"(?<=://)[^/@\s]*@"), f"{HIDDEN}@"),
    (re.compile(r"(?i)\b(bearer|basic)\s+[^\s'\",;]+"), rf"\1 {HIDDEN}"),
    (
        re.compile(
            r"(?i)((?:token|passwor[dt]|passwd|passphrase|secret|api[-_]?key|key-data|credentials?)['\"]?\s*[:=]\s*)"
            r"(\"[^\"]*\"|'[^']*'|[^\s,;]+)"
        ),
        rf"\1{HIDDEN}",
    ),
    # Base64, JSON web tokens, hexadecimal: long, and no words.
    (re.compile(r"(?<![\w/.-])(?=[\w+=/.-]*\d)(?=[\w+=/.-]*[A-Za-z])[\w+=]{20,}(?:[.\-/][\w+=-]+)*"), HIDDEN),
)


def redacted(text: str) -> str:
    """The text without what looks like a token, a key, a password, or the user of a URL."""
    for pattern, instead in _PATTERNS:
        text = pattern.sub(instead, text)
    return text


def without(body: bytes, authorization: str | None) -> bytes:
    """What a server says without the credentials that it was sent, should it repeat them."""
    secret = (authorization or "").partition(" ")[2].encode()
    return body.replace(secret, HIDDEN.encode()) if len(secret) > 3 else body
