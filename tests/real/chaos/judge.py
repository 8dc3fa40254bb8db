"""Whether what DNS answered during a storm was right, told from the record of the observer.

Pure. Times are seconds of the machine's monotonic clock, which all processes share.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

SILENCE = 3.0
"""Seconds without any answer, on a busy machine, that are no outage: packets may be lost."""

RESTART = 30.0
"""Seconds that a DNS server may take to be ready once nothing hinders it; pauses between attempts reach 20 s."""


class Answer(Struct, frozen=True, array_like=True):
    """One question and what came of it; `rcode` is empty when nothing came. `addresses` are those of A records."""

    server: str
    name: str
    asked: float
    answered: float
    rcode: str
    addresses: tuple[str, ...] = ()


class Promise(Struct, frozen=True):
    """What a server has to answer to a name from `begin` to `end`.

    The answer holds all addresses of `always`, none that is not in `ever`, and at least one. With `may_be_absent` the
    name need not exist, and may have no address.
    """

    server: str
    name: str
    begin: float
    end: float
    always: frozenset[str]
    ever: frozenset[str]
    may_be_absent: bool = False


class Outage(Struct, frozen=True):
    """A server of DNS was killed or stopped at `begin`, ran again at `mended` and was ready at `ready`."""

    server: str
    begin: float
    mended: float
    ready: float


class Interval(Struct, frozen=True):
    """Something hindered a server of DNS from reading its API server."""

    server: str
    begin: float
    end: float


class Wrong(Struct, frozen=True):
    """Something that must not be, in words, and when."""

    what: str
    server: str
    name: str
    at: float

    def __str__(self) -> str:
        return f"{self.at:.2f}: {self.name or 'all names'} at {self.server}: {self.what}"


def judge(
    answers: Sequence[Answer],
    promises: Sequence[Promise],
    outages: Sequence[Outage],
    hindrances: Sequence[Interval] = (),
) -> list[Wrong]:
    """Everything that was wrong, in the order of time.

    A server may be silent or answer SERVFAIL only from when it is killed until it is ready again, which must not take
    longer than RESTART while nothing hinders it. A promise that nobody asked about counts as wrong.
    """
    by_name: dict[tuple[str, str], list[Answer]] = defaultdict(list)
    for answer in answers:
        by_name[answer.server, answer.name].append(answer)
    found = [
        *_slow_restarts(outages, hindrances),
        *_silences(answers, outages),
        *(
            wrong
            for promise in promises
            for wrong in _broken(promise, by_name[promise.server, promise.name], outages)
        ),
    ]
    return sorted(found, key=lambda wrong: wrong.at)


def _slow_restarts(outages: Iterable[Outage], hindrances: Sequence[Interval]) -> Iterator[Wrong]:
    for outage in outages:
        hindering = [each for each in hindrances if each.server == outage.server]
        took = undisturbed(outage.mended, outage.ready, hindering)
        if took > RESTART:
            yield Wrong(f"not ready for {took:.1f} s after its restart", outage.server, "", outage.mended)


def undisturbed(begin: float, end: float, hindrances: Iterable[Interval]) -> float:
    """The longest run of seconds between `begin` and `end` in which there is no hindrance."""
    longest, free_since = 0.0, begin
    for each in sorted(hindrances, key=lambda each: each.begin):
        longest = max(longest, min(each.begin, end) - free_since)
        free_since = max(free_since, min(each.end, end))
    return max(longest, end - free_since)


def _silences(answers: Iterable[Answer], outages: Sequence[Outage]) -> Iterator[Wrong]:
    """Each run of questions to one server, outside its outages, of which none got an answer for too long."""
    since: dict[str, float] = {}
    told: set[str] = set()
    for answer in sorted(answers, key=lambda each: each.answered):
        server = answer.server
        if answer.rcode or _is_in_outage(answer, outages):
            since.pop(server, None)
            told.discard(server)
        elif server not in told and answer.answered - since.setdefault(server, answer.asked) > SILENCE:
            told.add(server)
            yield Wrong(f"silent for more than {SILENCE:g} s", server, "", since[server])


def _broken(promise: Promise, answers: Sequence[Answer], outages: Sequence[Outage]) -> Iterator[Wrong]:
    asked = [each for each in answers if promise.begin <= each.asked and each.answered <= promise.end]
    if not any(each.rcode for each in asked):
        yield Wrong("nobody asked, or no answer ever came", promise.server, promise.name, promise.begin)
    for answer in asked:
        what = _fault_of(answer, promise, outages)
        if what:
            yield Wrong(what, answer.server, answer.name, answer.answered)


def _fault_of(answer: Answer, promise: Promise, outages: Sequence[Outage]) -> str:
    addresses = frozenset(answer.addresses)
    match answer.rcode:
        case "":
            return ""
        case "NXDOMAIN":
            return "" if promise.may_be_absent else "NXDOMAIN"
        case "NOERROR":
            if strange := addresses - promise.ever:
                return f"strange {', '.join(sorted(strange))}"
            if lacking := promise.always - addresses:
                return f"lacks {', '.join(sorted(lacking))}"
            return "" if addresses or promise.may_be_absent else "no address"
        case rcode:
            return "" if _is_in_outage(answer, outages) else rcode


def _is_in_outage(answer: Answer, outages: Iterable[Outage]) -> bool:
    return any(
        each.server == answer.server and answer.asked <= each.ready and each.begin <= answer.answered
        for each in outages
    )


def counts(answers: Iterable[Answer]) -> Mapping[str, int]:
    """How many questions ended in which way."""
    found: dict[str, int] = defaultdict(int)
    for answer in answers:
        found[answer.rcode or "no answer"] += 1
    return dict(sorted(found.items()))
