"""What may be written on the command line; every mistake is one line that names the option, and exit status 2."""

from __future__ import annotations

import sys
from datetime import timedelta

import pytest

from mcs.cli.main import main
from mcs.cli.options import parse_clusters, parse_life, parse_listen
from mcs.cli.problems import WrongOptionError
from mcs.controllers.processes import Listen


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [
        ("127.0.0.1:5353", "127.0.0.1", 5353),
        ("[::1]:53", "::1", 53),
        (":8080", "0.0.0.0", 8080),
        ("127.0.0.1:0", "127.0.0.1", 0),
        ("0.0.0.0:65535", "0.0.0.0", 65535),
    ],
)
def test_an_address_is_an_ip_and_a_port(text: str, host: str, port: int) -> None:
    listen = parse_listen("--listen", text)
    assert listen == Listen(host, port)
    assert str(listen) == (text if text[0] != ":" else f"0.0.0.0{text}")


def test_a_cluster_id_alone_names_the_context_too() -> None:
    assert parse_clusters(["east", "west=admin@west=2"]) == {"east": "east", "west": "admin@west=2"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("7d", timedelta(days=7)),
        ("12h", timedelta(hours=12)),
        ("10m", timedelta(minutes=10)),
        ("0720m", timedelta(hours=12)),
    ],
)
def test_the_life_of_a_token_is_a_number_with_its_unit(text: str, expected: timedelta) -> None:
    assert parse_life(text) == expected


@pytest.mark.parametrize("text", ["", "7", "d", "7w", "-7d", "1.5h", "9m", "0d", "7 d", "9999999d"])
def test_anything_else_is_no_life_of_a_token(text: str) -> None:
    with pytest.raises(WrongOptionError, match="--token-life"):
        parse_life(text)


CONTROLLER = ("controller", "--cluster", "east")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("nosuch",), "No such command 'nosuch'; see mcs --help"),
        (("--nosuch",), "No such option: --nosuch"),
        (("controller",), "there are no members; give --cluster ID=CONTEXT for each, or --registry"),
        (
            ("controller", "--cluster", "a", "--federation"),
            "--federation needs --registry: what is federated goes to registered clusters",
        ),
        (
            ("controller", "--registry", "--federation", "--targets", "self", "--self", "a"),
            "--federation is of the controller of the host, which writes to all members; leave --targets away",
        ),
        (("status",), "Missing option '--cluster'; see mcs status --help"),
        (("dns", "surplus"), "surplus"),
        (("dns", "--ttl", "soon"), "--ttl"),
        (("dns", "--workers", "0"), "--workers 0 is not in 1..64"),
        (("dns", "--workers", "65"), "--workers 65 is not in 1..64"),
        (("dns", "--ttl", "-1"), "ttl -1 is not in 0..2147483647"),
        (("dns", "--ttl", str(2**31)), "is not in 0..2147483647"),
        (
            ("controller", "--cluster", "East"),
            "--cluster 'East': cluster id 'East' is not valid; use one DNS label",
        ),
        ((*CONTROLLER, "--unreachable", "forget"), "--unreachable 'forget' is not known; use drain or keep"),
        (
            (*CONTROLLER, "--unreachable-grace", "soon"),
            "--unreachable-grace 'soon' is no duration; write for example 30s, 5m or 1h, or 0 for ever",
        ),
        (("controller", "--cluster", "a.b.c"), "'a.b.c' is not valid"),
        (("controller", "--cluster", "x" * 64), "choose one of at most 63"),
        (("controller", "--cluster", ""), "cluster id '' is not valid"),
        (("controller", "--cluster", "east="), "--cluster 'east=' names no context; write ID=CONTEXT"),
        (("status", "--cluster", "East"), "'East' is not valid"),
        (
            (*CONTROLLER, "--cluster", "east=other"),
            "cluster id 'east' is given twice; give every member an id",
        ),
        ((*CONTROLLER, "--metrics-listen", "8080"), "--metrics-listen '8080' is no address; write IP:PORT"),
        ((*CONTROLLER, "--metrics-listen", "localhost:80"), "--metrics-listen 'localhost:80' is no address"),
        ((*CONTROLLER, "--metrics-listen", "::1:80"), "--metrics-listen '::1:80' is no address"),
        ((*CONTROLLER, "--metrics-listen", "[127.0.0.1]:80"), "is no address"),
        ((*CONTROLLER, "--metrics-listen", "127.0.0.1:"), "is no address"),
        ((*CONTROLLER, "--metrics-listen", "127.0.0.1:65536"), "is no address"),
        ((*CONTROLLER, "--metrics-listen", "127.0.0.1:٣"), "is no address"),
        ((*CONTROLLER, "--metrics-listen", ""), "is no address"),
        (("dns", "--listen", "127.0.0.1"), "--listen '127.0.0.1' is no address"),
        ((*CONTROLLER, "--dns-listen", ":53"), "--dns-listen needs --dns-cluster ID"),
        ((*CONTROLLER, "--dns-cluster", "east"), "--dns-cluster needs --dns-listen IP:PORT"),
        (
            (*CONTROLLER, "--cluster", "west", "--dns-listen", ":53", "--dns-cluster", "south"),
            "--dns-cluster 'south' is no member; choose one of east, west",
        ),
        ((*CONTROLLER, "--dns-listen", "53", "--dns-cluster", "east"), "--dns-listen '53' is no address"),
        ((*CONTROLLER, "--zone", "clusterset..local"), "zone 'clusterset..local' is not a DNS name"),
        (("dns", "--zone", "under_score.local"), "write it like clusterset.local"),
        (("dns", "--zone", ""), "zone '' is not a DNS name"),
        (("sandbox", "--log-level", "loud"), "--log-level 'loud' is not known"),
        (("dns", "--log-level", "loud"), "--log-level 'loud' is not known; use one of debug, info, warning"),
        ((*CONTROLLER, "--log-level", "INFO"), "--log-level 'INFO' is not known"),
        ((*CONTROLLER, "--targets", "some"), "--targets 'some' is not known; use all or self"),
        ((*CONTROLLER, "--targets", "self"), "--targets self needs --self ID"),
        ((*CONTROLLER, "--self", "east"), "--self needs --targets self"),
        (
            (*CONTROLLER, "--targets", "self", "--self", "west"),
            "--self 'west' is no member; choose one of east",
        ),
        ((*CONTROLLER, "--auto-export", "tier=we b"), "--auto-export 'tier=we b': 'tier=we b' is no label"),
        (("export", "web", "--cluster", "east"), "'web' is no Service; write NAMESPACE/NAME"),
        (("unexport", "shop/Web", "--cluster", "east"), "'shop/Web' is no Service; write NAMESPACE/NAME"),
        (("export", "kube-system/dns", "--cluster", "east"), "belong to each cluster alone"),
        (("export", "shop/web", "--cluster", "east", "--to", "x.y.z"), "--to 'x.y.z': cluster id 'x.y.z'"),
        (("export", "shop/web"), "Missing option '--cluster'; see mcs export --help"),
    ],
)
def test_a_wrong_option_is_one_line_and_status_2(
    arguments: tuple[str, ...],
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(sys, "argv", ["mcs", *arguments])
    with pytest.raises(SystemExit) as exit_:
        main()
    output, errors = capsys.readouterr()
    assert exit_.value.code == 2
    assert output == ""
    assert errors.startswith("mcs: ")
    assert errors.count("\n") == 1
    assert said in errors


def test_help_fits_80_columns_and_lists_the_commands_in_the_order_of_their_use(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    for arguments in (
        [],
        ["controller", "--help"],
        ["dns", "--help"],
        ["sandbox", "--help"],
        ["export", "--help"],
        ["unexport", "--help"],
        *([each, "--help"] for each in ("join", "leave", "clusters", "cordon", "uncordon", "drain")),
        ["plan", "--help"],
        ["plan", "division", "--help"],
        ["plan", "change", "--help"],
        ["explain", "--help"],
        ["federation", "--help"],
        ["federation", "status", "--help"],
        ["status", "--help"],
        *([each, "--help"] for each in ("enable", "disable", "federate", "orphaning-deletion")),
        ["migrate", "--help"],
        ["migrate", "kubefed", "--help"],
        *(["orphaning-deletion", each, "--help"] for each in ("enable", "disable", "status")),
    ):
        monkeypatch.setattr(sys, "argv", ["mcs", *arguments])
        with pytest.raises(SystemExit) as exit_:
            main()
        shown = capsys.readouterr().out
        assert exit_.value.code in (0, None)
        assert max(map(len, shown.splitlines())) <= 80
        assert "..." not in shown.partition("\n")[2], "no summary is cut off"
        assert "\x1b" not in shown
        assert "<" not in shown, "every value has a name that means something"
        if not arguments:
            listed = [line.split()[0] for line in shown.partition("Commands:")[2].splitlines() if line]
            assert listed == [
                *("controller", "dns", "sandbox", "export", "unexport"),
                *("join", "leave", "clusters", "cordon", "uncordon", "drain"),
                *("enable", "disable", "federate", "explain"),
                *("status", "version", "orphaning-deletion", "migrate", "plan", "federation"),
            ]
