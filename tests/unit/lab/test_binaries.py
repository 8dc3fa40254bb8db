"""The builder of the real programs, with a stand-in for the Go compiler."""

from __future__ import annotations

import fcntl
import threading
from pathlib import Path

import pytest

from tests.lab import binaries
from tests.lab.binaries import MissingBinaryError, build, built
from tests.lab.kubectl import kubectl_binary

COMPILER = """#!/bin/sh
echo "$@" >> "{calls}"
while [ "$1" != -o ]; do shift; done
{body}
"""


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", "/nonexistent")
    return tmp_path / "cache" / "mcs-lab"


def install_compiler(folder: Path, monkeypatch: pytest.MonkeyPatch, body: str) -> Path:
    """A `go` on the PATH that runs `body` with "$2" as the output file; returns the log of its calls."""
    go = folder / "path" / "go"
    go.parent.mkdir()
    go.write_text(COMPILER.format(calls=folder / "calls", body=body))
    go.chmod(0o755)
    monkeypatch.setenv("PATH", f"{go.parent}:/usr/bin:/bin")
    return folder / "calls"


def test_a_program_nobody_built_is_missing_and_the_message_says_what_to_run(cache: Path) -> None:
    with pytest.raises(MissingBinaryError, match="etcd is not built yet: run `make test-real`"):
        built("etcd")


def test_without_go_the_message_asks_for_go(cache: Path) -> None:
    with pytest.raises(MissingBinaryError, match="there is no Go"):
        build("etcd", print)


def test_a_program_is_built_once_from_pinned_modules_and_found_without_go_afterwards(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = install_compiler(tmp_path, monkeypatch, 'echo program > "$2"')
    lines: list[str] = []
    path = build("kubectl", lines.append)
    assert path.read_text() == "program\n"
    assert path.is_relative_to(cache / binaries.KUBE.digest())
    assert "-mod=readonly -trimpath" in calls.read_text()
    assert f"gitVersion=v{binaries.KUBERNETES}" in calls.read_text()
    assert [line.split()[0] for line in lines] == ["building", "built"]
    monkeypatch.setenv("PATH", "/nonexistent")
    assert build("kubectl", lines.append) == built("kubectl") == path
    assert len(calls.read_text().splitlines()) == 1


def test_a_failed_build_leaves_no_program_and_reports_the_last_line(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    install_compiler(
        tmp_path, monkeypatch, 'echo half > "$2"; echo first >&2; echo no such module >&2; exit 1'
    )
    with pytest.raises(MissingBinaryError, match="building etcd failed: no such module"):
        build("etcd", lambda line: None)
    assert "first" in capsys.readouterr().err
    with pytest.raises(MissingBinaryError):
        built("etcd")


def test_a_second_builder_waits_for_the_first_and_takes_its_result(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = install_compiler(tmp_path, monkeypatch, "exit 1")
    program = binaries.ETCD.program("etcd")
    program.parent.mkdir(parents=True)
    waits = threading.Event()
    found: list[Path] = []
    second = threading.Thread(target=lambda: found.append(build("etcd", lambda line: waits.set())))
    with (binaries.ETCD.cache() / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        second.start()
        assert waits.wait(timeout=10)
        program.write_text("made by the first")
    second.join(timeout=10)
    assert found == [program]
    assert not calls.exists()


@pytest.mark.parametrize("changed", ["go.mod", "go.sum", "ldflags"])
def test_whatever_changes_the_result_changes_the_digest(changed: str, tmp_path: Path) -> None:
    for name in ("go.mod", "go.sum"):
        (tmp_path / name).write_text(name)
    before = binaries.GoModule(tmp_path, "-s", {}).digest()
    if changed != "ldflags":
        (tmp_path / changed).write_text("changed")
    after = binaries.GoModule(tmp_path, "-w" if changed == "ldflags" else "-s", {}).digest()
    assert before != after
    # One more program of the same module leaves what is built where it is.
    assert (
        binaries.GoModule(tmp_path, "-s", {"new": "package"}).digest()
        == binaries.GoModule(tmp_path, "-s", {}).digest()
    )


def test_the_variable_kubectl_chooses_the_binary(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECTL", "/opt/kubectl")
    assert kubectl_binary() == Path("/opt/kubectl")
    monkeypatch.delenv("KUBECTL")
    with pytest.raises(MissingBinaryError):
        kubectl_binary()


@pytest.mark.parametrize(("minor", "release"), [("1.34", "1.34.4"), ("1.37", "1.37.2")])
def test_each_minor_has_a_release_that_its_module_pins(minor: str, release: str) -> None:
    chosen, folder = binaries.release_of(minor)
    assert chosen == release
    assert f"k8s.io/kubernetes v{release} " in (folder / "go.mod").read_text()


@pytest.mark.parametrize("minor", ["1.33", "1.34.4", "34"])
def test_a_minor_that_the_lab_lacks_ends_the_program_with_what_it_has(minor: str) -> None:
    with pytest.raises(SystemExit, match=f"MCS_KUBERNETES={minor}: the lab has Kubernetes 1.34 and 1.37"):
        binaries.release_of(minor)


def published_by(folder: Path, monkeypatch: pytest.MonkeyPatch, said: str, status: int = 0) -> Path:
    """A `go` on the PATH that answers `said`; returns the log of its calls."""
    calls = install_compiler(folder, monkeypatch, "")
    answer = folder / "answer"
    answer.write_text(said)
    (folder / "path" / "go").write_text(f'#!/bin/sh\necho "$@" >> "{calls}"\ncat "{answer}"\nexit {status}\n')
    return calls


def test_the_official_crds_are_fetched_once_and_found_without_go_afterwards(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = tmp_path / "module"
    (module / "config" / "crd").mkdir(parents=True)
    for name in ("one.yaml", "two.yaml", "embed.go"):
        (module / "config" / "crd" / name).write_text(name)
    with pytest.raises(
        MissingBinaryError, match="the official CRDs are not fetched yet: run `make test-real`"
    ):
        binaries.official_crds()
    with pytest.raises(MissingBinaryError, match="there is no Go"):
        binaries.fetch_official_crds(print)
    calls = published_by(tmp_path, monkeypatch, f'{{"Dir": "{module}"}}')
    found = binaries.fetch_official_crds(print)
    assert [path.read_text() for path in found] == ["one.yaml", "two.yaml"]
    assert all(path.is_relative_to(cache / binaries.MCS_API.digest()) for path in found)
    monkeypatch.setenv("PATH", "/nonexistent")
    assert binaries.fetch_official_crds(print) == binaries.official_crds() == found
    assert calls.read_text() == "mod download -json sigs.k8s.io/mcs-api\n"


def test_crds_that_are_not_those_of_go_sum_are_not_taken(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    published_by(tmp_path, monkeypatch, '{"Error": "verifying module:\\n\\tchecksum mismatch"}', status=1)
    with pytest.raises(MissingBinaryError, match="verifying module: checksum mismatch"):
        binaries.fetch_official_crds(print)
    with pytest.raises(MissingBinaryError):
        binaries.official_crds()
