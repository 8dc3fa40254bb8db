"""The measurements run on real API servers. Their figures are not judged here: machines are noisy."""

from __future__ import annotations

import json

from tests.bench import propagation, run


async def test_propagation_is_measured_next_to_a_bare_round_trip() -> None:
    figures = await propagation.measure(samples_of_each=5, exports=2)
    written = json.loads(run.write("propagation-short", figures).read_text())
    assert {figure["name"] for figure in written} == {
        f"{path}, {share}"
        for path in (
            "endpoint change to mirrored slice",
            "endpoint change to DNS answer",
            "export to DNS answer",
        )
        for share in ("p50", "p99")
    }
    for figure in written:
        assert set(figure) == {"name", "value", "unit", "baseline", "ratio"}
        assert figure["value"] > 0
        assert figure["baseline"] > 0
