"""What is different between two pictures of the sandbox, as lines for whoever watches.

Pure. Both pictures are of the same clusters.
"""

from collections.abc import Iterator, Mapping

from mcs.model.names import ClusterId, ServiceKey
from mcs.sandbox.demo.expectations import Question, Seen
from mcs.sandbox.demo.picture import Picture, answer_text, export_state

GONE = "is gone"


def changed_lines(before: Picture, now: Picture) -> Iterator[str]:
    """A line for each export, set of endpoints or answer that is not what it was; what is new is compared with
    nothing. The SOA's serial is no news.
    """
    yield from _changed_exports(before.seen, now.seen)
    yield from _changed_endpoints(before.seen, now.seen)
    known = {asked.question: asked.answer for asked in before.asked}
    for asked in now.asked:
        question = asked.question
        if question.kind != "SOA" and asked.answer != known.get(question, "NXDOMAIN"):
            name = question.name.removesuffix(".")
            yield f"{question.cluster}: {name} {question.kind} answers {answer_text(asked.answer)}"


def _changed_exports(before: Seen, now: Seen) -> Iterator[str]:
    for cluster in now.exports:
        was, present = _states(before, cluster), _states(now, cluster)
        for key in sorted(was | present):
            if was.get(key) != present.get(key):
                yield f"{cluster}: export {key} {present.get(key, GONE)}"


def _states(seen: Seen, cluster: ClusterId) -> dict[ServiceKey, str]:
    return {export.key: export_state(export) for export in seen.exports[cluster]}


def _changed_endpoints(before: Seen, now: Seen) -> Iterator[str]:
    where: dict[str, list[ClusterId]] = {}
    for cluster in now.slices:
        was, present = _ready_endpoints(before, cluster), _ready_endpoints(now, cluster)
        for key in sorted(was | present):
            if was.get(key) != present.get(key):
                text = f"import {key} {_counts(present.get(key))}"
                where.setdefault(text, []).append(cluster)
    for text, clusters in where.items():
        yield f"{', '.join(clusters)}: {text}"


def _counts(sources: Mapping[str, int] | None) -> str:
    if sources is None:
        return "has no endpoints"
    return f"has endpoints: {', '.join(f'{count} of {source}' for source, count in sorted(sources.items()))}"


def _ready_endpoints(seen: Seen, cluster: ClusterId) -> dict[ServiceKey, dict[str, int]]:
    """Per mirrored service and source cluster how many endpoints are ready, each counted in one address family."""
    by_family: dict[tuple[ServiceKey, str, str], int] = {}
    for mirror in seen.slices[cluster]:
        if mirror.is_mirror:
            family = (mirror.service, mirror.source_cluster, mirror.address_type)
            ready = sum(endpoint.is_ready for endpoint in mirror.endpoints or ())
            by_family[family] = by_family.get(family, 0) + ready
    counts: dict[ServiceKey, dict[str, int]] = {}
    for (key, source, _), ready in by_family.items():
        sources = counts.setdefault(key, {})
        sources[source] = max(ready, sources.get(source, 0))
    return counts


def followed_questions(picture: Picture, cluster: ClusterId, origin: str) -> tuple[Question, ...]:
    """What to ask next: what the picture asked, and in `cluster` the address of each service that it imports."""
    names = sorted(
        f"{each.metadata.name}.{each.metadata.namespace}.svc.{origin}."
        for each in picture.seen.imports[cluster]
    )
    asked = (asked.question for asked in picture.asked)
    return tuple(dict.fromkeys((*asked, *(Question(cluster, name, "A") for name in names))))
