"""What users do in a storm keeps what DNS is held to."""

from __future__ import annotations

from itertools import islice
from typing import Any

import pytest

from mcs.model.resources import SERVICE_EXPORTS, SERVICES
from tests.real.chaos.churn import (
    CLUSTERS,
    SERVICES_OF_A_STORM,
    Removal,
    Step,
    churn,
    first_steps,
)
from tests.scenarios.objects import expanded

STEPS = {cluster: [*first_steps(cluster), *islice(churn("seed", cluster), 2000)] for cluster in CLUSTERS}


def ready(step: Step) -> tuple[str, frozenset[str]] | None:
    return (
        None
        if isinstance(step, Removal) or "ready" not in step
        else (step["service"], frozenset(step["ready"]))
    )


@pytest.mark.parametrize("cluster", CLUSTERS)
def test_the_endpoints_that_stay_are_always_there_and_no_strange_one_ever_is(cluster: str) -> None:
    services = {each.name: each for each in SERVICES_OF_A_STORM}
    seen: dict[str, set[str]] = {}
    for name, addresses in filter(None, map(ready, STEPS[cluster])):
        own = frozenset(services[name].address(cluster, host) for host in range(256))
        assert services[name].always & own <= addresses <= services[name].ever & own
        seen.setdefault(name, set()).update(addresses)
    assert all(services[name].ever & addresses == addresses for name, addresses in seen.items())
    assert any(len(addresses) == 7 for addresses in seen.values()), "endpoints come and go"


@pytest.mark.parametrize("cluster", CLUSTERS)
def test_only_fleeting_services_are_taken_away_and_come_again(cluster: str) -> None:
    removed = [each for each in STEPS[cluster] if isinstance(each, Removal)]
    assert {each.name.split("-")[0] for each in removed} == {"fleeting"}
    assert {each.resource for each in removed} == {SERVICE_EXPORTS, SERVICES}
    exports = [
        each["ServiceExport"]
        for each in STEPS[cluster]
        if not isinstance(each, Removal) and "ServiceExport" in each
    ]
    assert len(exports) > 2 * len(set(exports))


def test_the_same_seed_brings_the_same_steps_and_another_cluster_others() -> None:
    def drawn(seed: str, cluster: str) -> list[Step]:
        return list(islice(churn(seed, cluster), 100))

    assert drawn("a", "east") == drawn("a", "east")
    assert drawn("a", "east") != drawn("b", "east")
    assert drawn("a", "east") != drawn("a", "west")


def test_every_step_is_an_object_that_an_api_server_can_take() -> None:
    for step in STEPS["east"]:
        if not isinstance(step, Removal):
            obj: dict[str, Any] = expanded(dict(step))[1]
            assert obj["metadata"]["name"]


def test_no_two_services_share_an_address() -> None:
    everything = [address for each in SERVICES_OF_A_STORM for address in each.ever]
    assert len(everything) == len(set(everything))
