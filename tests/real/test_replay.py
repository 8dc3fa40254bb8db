"""The recording that judges the sandbox, compared with a real kube-apiserver of today, so that it cannot rot."""

import pytest

from tests.lab.control_planes import ADMIN, ControlPlanes
from tests.replay.comparison import judge
from tests.replay.recordings import recorded
from tests.replay.replayer import replay, server_at
from tests.replay.sequences import all_sequences


@pytest.mark.recorded
async def test_a_real_api_server_answers_as_it_was_recorded() -> None:
    # A server of its own: the recorded answers are those of a cluster in which nothing else happened.
    async with ControlPlanes(("replay",)) as planes:
        plane = planes["replay"]
        server = server_at(plane.url, str(plane.ca_file), plane.tokens[ADMIN])
        replayed = {sequence.name: await replay(sequence, server) for sequence in all_sequences()}
    verdict = judge(recorded(), replayed, known=())
    print(verdict)
    assert verdict.equal == verdict.requests, str(verdict)
