"""What the sandbox shows: within 80 columns, in lines that can be pasted, and every change."""

from __future__ import annotations

import re
from io import StringIO
from pathlib import Path

import msgspec
import pytest
from rich.console import Console

from mcs.model.meta import Condition, ObjectMeta
from mcs.model.multicluster import (
    ImportPort,
    ServiceExport,
    ServiceExportStatus,
    ServiceImport,
    ServiceImportSpec,
)
from mcs.model.names import (
    SERVICE_NAME_LABEL,
    SLICE_SERVICE_LABEL,
    SOURCE_CLUSTER_LABEL,
    ClusterId,
    ServiceKey,
)
from mcs.model.slices import IPV4, IPV6, AddressType, EndpointSlice
from mcs.sandbox.demo.changes import changed_lines, followed_questions
from mcs.sandbox.demo.expectations import Answer, Kind, Question, Seen
from mcs.sandbox.demo.picture import Asked, Picture, drawn, first_commands, show
from mcs.testing.builders import endpoint, export, slice_

EAST, WEST, SOUTH = ClusterId("east"), ClusterId("west"), ClusterId("south")
WEB, DB = ServiceKey("shop", "web"), ServiceKey("shop", "db")


def judged(key: ServiceKey, type_: str = "Ready", status: str = "True", message: str = "") -> ServiceExport:
    condition = msgspec.convert(
        {
            "type": type_,
            "status": status,
            "reason": "Because",
            "message": message,
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        },
        Condition,
    )
    return msgspec.structs.replace(export(key), status=ServiceExportStatus(conditions=(condition,)))


def imported(key: ServiceKey, *ips: str) -> ServiceImport:
    return ServiceImport(
        metadata=ObjectMeta(name=key.name, namespace=key.namespace),
        spec=ServiceImportSpec(
            type="ClusterSetIP" if ips else "Headless",
            ports=(
                ImportPort(port=80, protocol="TCP", name="http"),
                ImportPort(port=443, protocol="TCP", name="https"),
            ),
            ips=ips,
        ),
    )


def mirror(
    source: str, ready: int, *, not_ready: int = 0, key: ServiceKey = WEB, family: AddressType = IPV4
) -> EndpointSlice:
    """A mirrored slice of a service of `source`."""
    endpoints = [endpoint("10.0.0.1", ready=number >= not_ready) for number in range(ready + not_ready)]
    made = slice_(f"{key.name}-{source}-{family}", *endpoints, key=key, family=family)
    labels = {
        SLICE_SERVICE_LABEL: "derived",
        SERVICE_NAME_LABEL: key.name,
        SOURCE_CLUSTER_LABEL: source,
    }
    return msgspec.structs.replace(made, metadata=msgspec.structs.replace(made.metadata, labels=labels))


def asked(name: str, kind: Kind, answer: Answer) -> Asked:
    return Asked(Question(EAST, f"{name}.clusterset.local.", kind), 33333, answer)


def picture(
    *questions: Asked,
    exports: dict[ClusterId, list[ServiceExport]] | None = None,
    imports: dict[ClusterId, list[ServiceImport]] | None = None,
    slices: dict[ClusterId, list[EndpointSlice]] | None = None,
) -> Picture:
    clusters = (EAST, WEST, SOUTH)
    return Picture(
        clusters={cluster: (f"https://127.0.0.1:4000{n}", 50000 + n) for n, cluster in enumerate(clusters)},
        seen=Seen(
            exports={cluster: (exports or {}).get(cluster, []) for cluster in clusters},
            imports={cluster: (imports or {}).get(cluster, []) for cluster in clusters},
            slices={cluster: (slices or {}).get(cluster, []) for cluster in clusters},
        ),
        asked=questions,
    )


REFUSAL = 'A Service of type "ExternalName" cannot be exported; use ClusterIP, NodePort or [headless].'
WHOLE = picture(
    asked("web.shop.svc", "A", frozenset({"10.96.0.9"})),
    asked(
        "db.shop.svc",
        "AAAA",
        frozenset(f"fd00:100:244:{n}:100:{m}:{n}:{m}" for n in range(1, 4) for m in range(1, 3)),
    ),
    asked("payments.shop.svc", "A", "NXDOMAIN"),
    exports={
        EAST: [judged(WEB), export(DB)],
        SOUTH: [judged(ServiceKey("shop", "payments"), "Valid", "False", REFUSAL)],
    },
    imports={
        EAST: [imported(WEB, "10.96.0.9", "fd00:10:96::100"), imported(DB)],
        WEST: [imported(WEB, "10.97.0.9", "fd00:10:97::100")],
        SOUTH: [imported(WEB, "10.98.0.9")],
    },
)


def shown(whole: Picture, *, width: int, terminal: bool) -> str:
    text = StringIO()
    console = Console(file=text, width=width, force_terminal=terminal, color_system=None)
    show(console, drawn(whole))
    return text.getvalue()


def table(printed: str, heading: str) -> list[list[str]]:
    """The cells of the rows under the heading."""
    _, _, rest = printed.partition(f"\n{heading} ")
    return [line.split() for line in rest.partition("\n\n")[0].splitlines()[1:]]


@pytest.mark.parametrize("width", [80, 120])
def test_a_terminal_is_not_overrun_and_names_stay_in_one_piece(width: int) -> None:
    printed = shown(WHOLE, width=width, terminal=True)
    assert max(len(line.rstrip()) for line in printed.splitlines()) <= width
    assert table(printed, "IMPORT") == [
        ["shop/db", "80/TCP", "443/TCP", "headless", "-", "-"],
        ["shop/web", "80/TCP", "443/TCP", "10.96.0.9", "10.97.0.9", "10.98.0.9"],
        ["fd00:10:96::100", "fd00:10:97::100"],
    ]
    assert REFUSAL.split() == [
        word for row in table(printed, "EXPORT")[1:] for word in row if word in REFUSAL.split()
    ]


def test_in_a_narrow_terminal_a_long_name_gives_way_last() -> None:
    key = ServiceKey("shop", "database-of-everything-that-is-sold")
    imports = {cluster: [imported(key, "10.96.100.100", "fd00:10:96::100")] for cluster in (EAST, WEST)}
    assert f"\n{key} " in shown(picture(imports=imports), width=80, terminal=True)


def test_what_is_no_terminal_gets_one_row_a_line() -> None:
    printed = shown(WHOLE, width=80, terminal=False)
    rows = [re.split(r"  +", line.rstrip()) for line in printed.splitlines()]
    assert ["shop/payments", "south", f"Because: {REFUSAL}"] in rows
    assert ["shop/db", "east", "not judged yet"] in rows
    assert ["shop/web", "east", "exported"] in rows
    assert ["east", "https://127.0.0.1:40000", "127.0.0.1:50000", "2", "2"] in rows
    assert max(map(len, printed.splitlines())) < 300, "padding to no purpose"


def test_every_question_can_be_pasted_and_stands_above_its_whole_answer() -> None:
    printed = shown(WHOLE, width=80, terminal=True)
    assert (
        "dig @127.0.0.1 -p 33333 web.shop.svc.clusterset.local A\n    10.96.0.9\n"
        "dig @127.0.0.1 -p 33333 db.shop.svc.clusterset.local AAAA\n    fd00:100:244:1:100:1:1:1, "
    ) in re.sub(" +\n", "\n", printed)
    assert "clusterset.local A\n    NXDOMAIN" in printed
    for address in WHOLE.asked[1].answer:
        assert address in printed, "colons are no emoji"


def test_commands_are_one_line_each_however_narrow_the_terminal() -> None:
    text = StringIO()
    folder = Path("/tmp/a-folder-with-quite-a-long-name/and-one-more-in-it/kubeconfig")
    show(
        Console(file=text, width=40, force_terminal=True),
        first_commands(folder, "http://127.0.0.1:1/metrics"),
    )
    lines = [line for line in text.getvalue().splitlines() if line]
    assert f"export KUBECONFIG={folder}" in lines
    assert "curl http://127.0.0.1:1/metrics" in lines
    assert {line.split()[0] for line in lines[1:-1]} == {"export", "kubectl", "curl"}


CHANGES: dict[str, tuple[Picture, Picture, list[str]]] = {
    "nothing": (WHOLE, WHOLE, []),
    "an export comes, is judged, and goes": (
        picture(exports={EAST: [export(WEB)], WEST: [judged(WEB)]}),
        picture(exports={EAST: [judged(WEB)], SOUTH: [export(WEB)]}),
        [
            "east: export shop/web exported",
            "west: export shop/web is gone",
            "south: export shop/web not judged yet",
        ],
    ),
    "an export meets a conflict": (
        picture(exports={EAST: [judged(WEB)]}),
        picture(exports={EAST: [judged(WEB, "Conflict", "True", "ports differ")]}),
        ["east: export shop/web Because: ports differ"],
    ),
    "endpoints change everywhere at once": (
        picture(slices={EAST: [mirror("west", 2)], WEST: [mirror("west", 2)]}),
        picture(slices={EAST: [mirror("west", 3)], WEST: [mirror("west", 3)]}),
        ["east, west: import shop/web has endpoints: 3 of west"],
    ),
    "one endpoint is not ready, in both families": (
        picture(slices={EAST: [mirror("west", 3), mirror("west", 3, family=IPV6)]}),
        picture(slices={EAST: [mirror("west", 2, not_ready=1), mirror("west", 2, not_ready=1, family=IPV6)]}),
        ["east: import shop/web has endpoints: 2 of west"],
    ),
    "a second source comes": (
        picture(slices={EAST: [mirror("west", 3)]}),
        picture(slices={EAST: [mirror("west", 3), mirror("east", 2)]}),
        ["east: import shop/web has endpoints: 2 of east, 3 of west"],
    ),
    "the last mirror goes": (
        picture(slices={EAST: [mirror("west", 3)]}),
        picture(),
        ["east: import shop/web has no endpoints"],
    ),
    "source slices are no mirrors": (picture(), picture(slices={EAST: [slice_("a", "10.0.0.1")]}), []),
    "an answer changes, and another serial with it": (
        picture(asked("web.shop.svc", "A", frozenset({"10.0.0.1"})), asked("x", "SOA", frozenset({"1"}))),
        picture(asked("web.shop.svc", "A", "NXDOMAIN"), asked("x", "SOA", frozenset({"2"}))),
        ["east: web.shop.svc.clusterset.local A answers NXDOMAIN"],
    ),
    "a new name answers": (
        picture(),
        picture(asked("web.shop.svc", "A", frozenset({"10.0.0.2", "10.0.0.1"}))),
        ["east: web.shop.svc.clusterset.local A answers 10.0.0.1, 10.0.0.2"],
    ),
    "a new name does not answer yet": (picture(), picture(asked("web.shop.svc", "A", "NXDOMAIN")), []),
}


@pytest.mark.parametrize("change", CHANGES)
def test_each_change_is_one_line(change: str) -> None:
    before, now, lines = CHANGES[change]
    assert list(changed_lines(before, now)) == lines


def test_names_are_followed_from_their_import_on_and_not_forgotten() -> None:
    web, db = (Question(EAST, f"{name}.shop.svc.clusterset.local.", "A") for name in ("web", "db"))
    with_import = picture(imports={EAST: [imported(WEB), imported(DB)]})
    assert followed_questions(with_import, EAST, "clusterset.local") == (db, web)
    without = picture(Asked(web, 1, "NXDOMAIN"), imports={WEST: [imported(WEB)]})
    assert followed_questions(without, EAST, "clusterset.local") == (web,)
