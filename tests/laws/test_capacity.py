"""Laws of capacity: what fits is what a scheduler places one by one, in whatever order it looks at the nodes."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from mcs.federation.capacity import Used, fits, needs_of, used_by
from mcs.model.pods import Host, Pod
from mcs.testing.pods import host, pod, template

CPU = st.sampled_from(["0", "1m", "250m", "0.3", "1", "1500m", "3", "7"])
MEMORY = st.sampled_from(["0", "1Ki", "100M", "96Mi", "1Gi", "1.5Gi", "4e9"])
WORTH = {
    "m": Fraction(1, 1000),
    "Ki": Fraction(1024),
    "Mi": Fraction(1024**2),
    "Gi": Fraction(1024**3),
    "M": Fraction(10**6),
    "e9": Fraction(10**9),
}
REQUESTS = st.builds("cpu={} memory={}".format, CPU, MEMORY)
NODES = st.lists(st.builds("cpu={} memory={} pods={}".format, CPU, MEMORY, st.integers(0, 12)), max_size=4)


def _worth(written: str) -> Fraction:
    """A second way to read the few quantities above."""
    unit = next((unit for unit in WORTH if written.endswith(unit)), "")
    return Fraction(written.removesuffix(unit)) * WORTH.get(unit, Fraction(1))


def _worths(text: str) -> dict[str, Fraction]:
    return {name: _worth(amount) for name, amount in (each.split("=") for each in text.split())}


def placed_one_by_one(
    request: str, nodes: list[str], there: list[tuple[str, int]], order: list[int], most: int
) -> int:
    """How many pods a scheduler that knows only what is free now places, first fit in this order of nodes."""
    free = [_worths(node) for node in nodes]
    for taken, number in there:
        for name, amount in {**_worths(taken), "pods": Fraction(1)}.items():
            free[number][name] -= amount
    wanted = {**_worths(request), "pods": Fraction(1)}
    for placed in range(most):
        # Of a resource of which nothing is asked there may be too little already.
        found = next(
            (
                free[at]
                for at in order
                if all(not amount or free[at][name] >= amount for name, amount in wanted.items())
            ),
            None,
        )
        if found is None:
            return placed
        for name, amount in wanted.items():
            found[name] -= amount
    return most


@st.composite
def worlds(draw: st.DrawFn) -> tuple[str, list[str], list[tuple[str, int]], list[int]]:
    nodes = draw(NODES)
    number = st.integers(0, len(nodes) - 1)
    there = draw(st.lists(st.tuples(REQUESTS, number), max_size=5)) if nodes else []
    return draw(REQUESTS), nodes, there, draw(st.permutations(range(len(nodes))))


def _objects(nodes: list[str], there: list[tuple[str, int]]) -> tuple[list[Host], list[Pod]]:
    hosts = [host(str(number), node) for number, node in enumerate(nodes)]
    return hosts, [pod(requests, str(number)) for requests, number in there]


@given(worlds())
def test_what_fits_is_what_one_by_one_finds_a_place(
    world: tuple[str, list[str], list[tuple[str, int]], list[int]],
) -> None:
    request, nodes, there, order = world
    hosts, pods = _objects(nodes, there)
    assert fits(needs_of(template(request)), hosts, used_by(pods)) == placed_one_by_one(
        request, nodes, there, order, most=100
    )


@given(worlds())
def test_a_pod_that_comes_and_goes_leaves_what_was(
    world: tuple[str, list[str], list[tuple[str, int]], list[int]],
) -> None:
    request, nodes, there, _ = world
    footprint = needs_of(template(request)).footprint
    for used in (Used(), *used_by(_objects(nodes, there)[1]).values()):
        more = used.with_pod(footprint)
        assert more.pods == used.pods + 1
        assert more.with_pod(footprint, -1) == used
