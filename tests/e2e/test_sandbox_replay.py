"""The sandbox API server, judged by the recorded answers of a real kube-apiserver."""

import asyncio
from ipaddress import IPv4Network, IPv6Network

import pytest

from mcs.sandbox.http.server import ApiServer
from tests.replay.comparison import Verdict, judge, known_differences
from tests.replay.recordings import recorded
from tests.replay.replayer import Answers, Server, replay
from tests.replay.sequences import HERE, Sequence, all_sequences

# Several sequences wait for watches to end; on a busy machine they take their time.
pytestmark = pytest.mark.timeout(180)
RANGES = (IPv4Network("10.100.0.0/16"), IPv6Network("fd00:10:100::/112"))


async def answers_of_a_fresh_sandbox(sequence: Sequence) -> Answers:
    async with ApiServer(tokens={"admin": "admin"}, service_ranges=RANGES) as sandbox:
        return await replay(sequence, Server(sandbox.url, sandbox.client_tls(), sandbox.token))


async def answers_of_the_sandbox() -> dict[str, Answers]:
    sequences = all_sequences()
    answers = await asyncio.gather(*(answers_of_a_fresh_sandbox(sequence) for sequence in sequences))
    return {sequence.name: answer for sequence, answer in zip(sequences, answers, strict=True)}


@pytest.fixture(scope="module")
def verdict() -> Verdict:
    replayed = asyncio.run(answers_of_the_sandbox())
    found = judge(recorded(), replayed, known_differences(HERE / "differences.yaml"))
    print(found)
    return found


def test_the_sandbox_answers_as_a_real_api_server_does(verdict: Verdict) -> None:
    assert not verdict.unlisted, str(verdict)


def test_every_listed_difference_still_occurs(verdict: Verdict) -> None:
    assert not verdict.stale, str(verdict)


def test_enough_requests_are_answered_equally(verdict: Verdict) -> None:
    assert verdict.equal >= 750, str(verdict)
