"""What is set aside and fetched when an export names it is to plans as if it had been kept: late at most, not gone."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from hypothesis import given
from hypothesis import strategies as st

from mcs.controllers.clusters import REFLECTED
from mcs.testing.virtual_time import run_virtual
from tests.laws.late_answers import KEYS, TOLD, Telling, view

HAPPENINGS = {
    each.__name__: each
    for each in (
        Telling.change_export,
        Telling.change_service,
        Telling.change_slice,
        Telling.change_mirror,
        Telling.tell,
        Telling.begin_list,
        Telling.end_list,
        Telling.answer,
    )
}
Step = tuple[str, int, int]
OFTEN = [*HAPPENINGS, "tell", "tell", "tell", "answer", "end_list", "change_export"]
steps = st.lists(
    st.tuples(st.sampled_from(OFTEN), st.integers(0, 5), st.integers(0, 11)), min_size=20, max_size=60
)


async def _told(history: list[Step], *, is_synced: bool) -> list[str]:
    """What is wrong, at any moment or when all has been told and answered; nothing when the law holds."""
    telling = Telling()
    fetching = asyncio.create_task(telling.demand.run(telling, cluster="east"))
    if is_synced:
        _end_lists(telling)
    for what, which, how in history:
        HAPPENINGS[what](telling, which, how)
        await _turn()
        telling.plan()
        if found := list(telling.complaints()):
            return [f"after {what} {which} {how}", *found]
    _end_lists(telling)
    while any(len(told.events) > told.reached for told in telling.told.values()):
        for which in range(len(TOLD)):
            telling.tell(which, 3)
    while not telling.demand.queue.is_idle:
        telling.answer(0, 1)
        await asyncio.sleep(1)
    telling.plan()
    fetching.cancel()
    with suppress(asyncio.CancelledError):
        await fetching
    return list(telling.complaints()) + _differences(telling)


async def _turn() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


def _end_lists(telling: Telling) -> None:
    for which in range(len(TOLD)):
        telling.end_list(which, 0)


def _differences(telling: Telling) -> list[str]:
    """What differs from the caches that keep everything, from what was planned, or is kept for nothing."""
    whole, some = telling.view_of_whole, telling.view_of_some
    found = [f"{key} is unknown" for key in KEYS if some.is_unknown(key)]
    for key in KEYS:
        if view(some, key) != view(whole, key):
            found.append(f"{key}: {view(some, key)} instead of {view(whole, key)}")
        if telling.planned.get(key, ("", frozenset())) != view(whole, key):
            found.append(f"{key}: planned for {telling.planned.get(key)} instead of {view(whole, key)}")
    if some.service_families() != whole.service_families():
        found.append(f"families {some.service_families()} instead of {whole.service_families()}")
    for each in REFLECTED:
        if (on_demand := each.on_demand) is not None:
            kept = {obj.key for obj in telling.some[each.resource.plural]}
            wanted = {
                obj.key
                for obj in telling.whole[each.resource.plural]
                if on_demand.always(obj) or some.exports.get(getattr(obj, "service", obj.key)) is not None
            }
            if kept != wanted:
                found.append(f"{each.resource} kept: {kept} instead of {wanted}")
    return found


@given(steps)
def test_set_aside_from_the_first_list_on(history: list[Step]) -> None:
    assert not run_virtual(_told(history, is_synced=False))


@given(steps)
def test_set_aside_in_a_cluster_that_has_been_seen(history: list[Step]) -> None:
    assert not run_virtual(_told(history, is_synced=True))
