"""Sends a sequence of requests to an API server and gives its answers in normal form.

Leaves the form of the files to `sequences`, what two answers have in common to `normal_form`, and their
comparison to `comparison`.
"""

import asyncio
import json
import ssl
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import aiohttp
import yarl

from tests.replay.body_parts import at, only_parts, with_entries, without_parts
from tests.replay.normal_form import RawAnswer, normal_form, without_ages
from tests.replay.sequences import REFERENCE, Sequence, Step

ANSWER_WITHIN = aiohttp.ClientTimeout(total=30)
WATCH_AT_MOST = 6.0
"""Seconds after which a watch that neither ended nor gave the expected number of events is cut."""


Answers = list[dict[str, Any]]
"""The answers to one sequence, in normal form: name, code, type, warnings and body of each."""


@dataclass(frozen=True)
class Server:
    """Where to send the requests: `url` has no final slash, `token` is an administrator's."""

    url: str
    tls: ssl.SSLContext
    token: str


def server_at(url: str, ca_file: str, token: str) -> Server:
    """The server that a command line names."""
    return Server(url, ssl.create_default_context(cafile=ca_file), token)


async def replay(sequence: Sequence, server: Server) -> Answers:
    """The answers to the sequence's requests, one after the other, in normal form."""
    whole: dict[str, Any] = {}
    answers: list[RawAnswer] = []
    connector = aiohttp.TCPConnector(ssl=server.tls)
    async with aiohttp.ClientSession(connector=connector, read_bufsize=2**22) as session:
        for step in sequence.steps:
            answer = await _answer(session, server, step, whole)
            whole[step.name] = answer.body
            answers.append(_compared_part(step, answer))
    return normal_form(answers, sequence.literals)


async def _answer(
    session: aiohttp.ClientSession, server: Server, step: Step, whole: dict[str, Any]
) -> RawAnswer:
    clock = asyncio.get_running_loop()
    give_up = clock.time() + 10
    while True:
        answer = await _send(session, server, step, whole)
        until = step.until
        if until is None or clock.time() > give_up:
            return answer
        if answer.code == until.code and (until.path is None or at(answer.body, until.path) == until.value):
            return answer
        await asyncio.sleep(0.05)


async def _send(
    session: aiohttp.ClientSession, server: Server, step: Step, whole: dict[str, Any]
) -> RawAnswer:
    path = _filled(step.path, whole, in_path=True)
    payload = step.payload()
    headers = {"Accept": step.accept, "User-Agent": "replay"}
    if step.user != "anonymous":
        token = server.token if step.user == "admin" else "a-token-nobody-gave-out"
        headers["Authorization"] = f"Bearer {token}"
    if payload is not None and step.content:
        headers["Content-Type"] = step.content
    async with session.request(
        step.method,
        yarl.URL(server.url + path, encoded=True),
        headers=headers,
        data=None if payload is None else _filled(payload, whole, in_path=False).encode(),
        timeout=ANSWER_WITHIN,
        skip_auto_headers=("Content-Type",),
    ) as response:
        content_type = response.headers.get("Content-Type", "")
        body: Any
        if step.is_watch and response.status == 200:
            body = await _events(response, step.events)
        else:
            body = _decoded(content_type, await response.read())
        warnings = tuple(response.headers.getall("Warning", ()))
        return RawAnswer(step.name, response.status, content_type, warnings, body)


def _decoded(content_type: str, content: bytes) -> Any:
    if content_type.startswith("application/json"):
        return json.loads(content)
    if "protobuf" in content_type:
        return "<protobuf>"
    return content.decode(errors="replace")


async def _events(response: aiohttp.ClientResponse, expected: int | None) -> list[Any]:
    """The events until the stream ends, or `expected` of them; a bookmark counts if it ends a first list."""
    events: list[Any] = []
    try:
        async with asyncio.timeout(WATCH_AT_MOST):
            while line := await response.content.readline():
                event = json.loads(line)
                if event.get("type") != "BOOKMARK" or event["object"]["metadata"].get("annotations"):
                    events.append(event)
                if expected is not None and len(events) >= expected:
                    break
    except TimeoutError:
        events.append("<the watch did not end>")
    response.close()
    return events


def _filled(text: str, whole: dict[str, Any], *, in_path: bool) -> str:
    """The text with every `${step:/pointer}` replaced by what that step's answer holds there."""

    def value(step: str, pointer: str) -> str:
        found = str(at(whole.get(step), pointer))
        return quote(found, safe="") if in_path else json.dumps(found)[1:-1]

    return REFERENCE.sub(lambda reference: value(reference[1], reference[2]), text)


def _compared_part(step: Step, answer: RawAnswer) -> RawAnswer:
    body = without_ages(json.loads(json.dumps(answer.body)))
    if answer.code < 400:
        body = with_entries(body, step.keep) if step.keep else body
        body = without_parts(body, step.omit)
        body = only_parts(body, step.only) if step.only else body
    return RawAnswer(answer.name, answer.code, answer.content_type, answer.warnings, body)
