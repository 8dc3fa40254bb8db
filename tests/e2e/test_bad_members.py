"""Members that never answer, refuse or are slow keep nobody waiting, counted in virtual time."""

from __future__ import annotations

from pathlib import Path

from structlog.testing import capture_logs

from mcs.testing.virtual_time import run_virtual
from tests.bench.fleet import seconds_until_synced


def test_good_members_sync_beside_bad_ones_in_the_time_they_take_alone(tmp_path: Path) -> None:
    """No timeout and no slow answer, of which the shortest takes 5 s, is in between."""
    with capture_logs():
        alone = run_virtual(seconds_until_synced(7, 0, tmp_path))
        beside = run_virtual(seconds_until_synced(7, 1, tmp_path))

    assert beside - alone < 1
