"""The real Kubernetes programs the tests run against, built once from pinned Go modules into the cache.

The variable MCS_KUBERNETES says of which minor they are, 1.34 or 1.37; each has its go.mod and its builds. The
official CRDs come from a module too, and are copied into the same cache.

A build is keyed by its go.mod, go.sum and flags, so a fresh clone finds what an earlier one built, even on a
machine without Go. `python -m tests.lab.binaries` builds what the API servers need and is missing, with the
argument `nodes` also what whole clusters need. Starting the programs belongs to control_planes and clusters.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

_MODULES = Path(__file__).parent / "gomod"
_RELEASES = {"1.34": ("1.34.4", _MODULES / "kube"), "1.37": ("1.37.2", _MODULES / "kube-1.37")}


def release_of(minor: str) -> tuple[str, Path]:
    """The release of Kubernetes that stands for this minor, and the folder of the Go module that pins it.

    Ends the program with one line where the lab has no release of the minor.
    """
    if minor not in _RELEASES:
        sys.exit(f"MCS_KUBERNETES={minor}: the lab has Kubernetes {' and '.join(_RELEASES)}")
    return _RELEASES[minor]


DEFAULT_MINOR = "1.34"
MINOR = os.environ.get("MCS_KUBERNETES") or DEFAULT_MINOR
KUBERNETES, _KUBE_MODULE = release_of(MINOR)

_VERSION_PACKAGE = "k8s.io/component-base/version"
# Clients compare the server's version, and a Go build outside the release scripts leaves it at v0.0.0.
_KUBERNETES_VERSION = {
    "gitVersion": f"v{KUBERNETES}",
    "gitMajor": "1",
    "gitMinor": MINOR.removeprefix("1."),
    "gitTreeState": "archive",
    "gitCommit": "0" * 40,
    "buildDate": "2026-01-01T00:00:00Z",
}


def cache_root() -> Path:
    """The folder of everything that is built once for all checkouts of a user; it need not exist."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "mcs-lab"


class MissingBinaryError(Exception):
    """A program is not in the cache, or cannot be built; the message is one line that says what to do."""


@dataclass(frozen=True)
class GoModule:
    """A folder with go.mod and go.sum, linker flags, and the programs (name -> main package) it builds."""

    folder: Path
    ldflags: str
    programs: dict[str, str]

    def digest(self) -> str:
        """Names the build: the same digest means the same bytes (the Go version apart)."""
        hashed = hashlib.sha256()
        for part in ((self.folder / "go.mod").read_bytes(), (self.folder / "go.sum").read_bytes()):
            hashed.update(part)
        hashed.update("\0".join((self.ldflags, *_BUILD_FLAGS, platform.machine())).encode())
        return hashed.hexdigest()[:16]

    def cache(self) -> Path:
        """The folder of this build; it need not exist."""
        return cache_root() / self.digest()

    def program(self, name: str) -> Path:
        """Where the program is, once it is built."""
        return self.cache() / "bin" / name


_REPORT_EVERY_SECONDS = 20
_BUILD_FLAGS = ("-mod=readonly", "-trimpath")

ETCD = GoModule(_MODULES / "etcd", "-s -w", {"etcd": "go.etcd.io/etcd/server/v3"})
KUBE = GoModule(
    _KUBE_MODULE,
    " ".join(
        ("-s -w", *(f"-X {_VERSION_PACKAGE}.{name}={value}" for name, value in _KUBERNETES_VERSION.items()))
    ),
    {
        name: f"k8s.io/kubernetes/cmd/{name}"
        for name in (
            "kube-apiserver",
            "kubectl",
            "kube-controller-manager",
            "kube-scheduler",
            "kubelet",
            "kube-proxy",
        )
    },
)
COREDNS = GoModule(_MODULES / "coredns", "-s -w", {"coredns": "github.com/coredns/coredns"})
# A build outside Helm's release scripts renders charts for Kubernetes 1.20 where no cluster is asked.
_HELM_CAPABILITIES = "helm.sh/helm/v3/pkg/chartutil.k8sVersion"
HELM = GoModule(
    _MODULES / "helm",
    f"-s -w -X {_HELM_CAPABILITIES}Major=1 -X {_HELM_CAPABILITIES}Minor={MINOR.removeprefix('1.')}",
    {"helm": "helm.sh/helm/v3/cmd/helm"},
)
MODULES = (ETCD, KUBE, COREDNS, HELM)
# Nothing is built of it: its CRDs are wanted.
MCS_API = GoModule(_MODULES / "mcs-api", "", {})

# The first tier must not wait for the minutes that the programs of the second take to build.
API_TIER = ("etcd", "kube-apiserver", "kubectl", "helm", "coredns", "kube-controller-manager")
NODE_TIER = (
    *API_TIER,
    "kube-scheduler",
    "kubelet",
    "kube-proxy",
)


def built(name: str) -> Path:
    """The program of this name from the cache.

    Raises MissingBinaryError where no earlier run built it, KeyError for a name the lab does not know.
    """
    path = _module_of(name).program(name)
    if not path.is_file():
        raise MissingBinaryError(
            f"{name} is not built yet: run `make test-real` or `python -m tests.lab.binaries` (needs Go)"
        )
    return path


def build(name: str, report: Callable[[str], None]) -> Path:
    """The program of this name, built first where the cache lacks it; `report` receives one line per step.

    Two builders on one machine take turns, and a program appears in the cache only when it is whole.
    Raises MissingBinaryError where Go is absent or the build fails.
    """
    module = _module_of(name)
    target = module.program(name)
    if target.is_file():
        return target
    go = _go(f"{name} is not built yet and there is no Go to build it")
    target.parent.mkdir(parents=True, exist_ok=True)
    with _locked(module.cache() / "lock", report):
        if not target.is_file():
            _compile(go, module, name, target, report)
    return target


def official_crds() -> tuple[Path, ...]:
    """The CRDs that sigs.k8s.io/mcs-api publishes, one YAML file each, from the cache.

    Raises MissingBinaryError where no earlier run fetched them.
    """
    found = tuple(sorted((MCS_API.cache() / "crds").glob("*.yaml")))
    if not found:
        raise MissingBinaryError(
            "the official CRDs are not fetched yet: run `make test-real` or `python -m tests.lab.binaries` (needs Go)"
        )
    return found


def fetch_official_crds(report: Callable[[str], None]) -> tuple[Path, ...]:
    """The same, fetched first where the cache lacks them; Go compares the module with the pinned go.sum.

    Raises MissingBinaryError where Go is absent, or the module is or cannot be had.
    """
    target = MCS_API.cache() / "crds"
    if not target.is_dir():
        go = _go("the official CRDs are not fetched yet and there is no Go to fetch them")
        MCS_API.cache().mkdir(parents=True, exist_ok=True)
        with _locked(MCS_API.cache() / "lock", report):
            if not target.is_dir():
                report("fetching the official CRDs")
                _copy_crds(_downloaded(go, MCS_API, "sigs.k8s.io/mcs-api") / "config" / "crd", target)
    return official_crds()


def _downloaded(go: str, module: GoModule, wanted: str) -> Path:
    command = [go, "mod", "download", "-json", wanted]
    done = subprocess.run(command, cwd=module.folder, capture_output=True, text=True, check=False)
    said = json.loads(done.stdout or "{}")
    if done.returncode != 0 or "Dir" not in said:
        reason = (said.get("Error") or done.stderr).split()
        raise MissingBinaryError(f"fetching {wanted} failed: {' '.join(reason)}")
    return Path(said["Dir"])


def _copy_crds(published: Path, target: Path) -> None:
    unfinished = target.with_suffix(".unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir()
    for path in published.glob("*.yaml"):
        (unfinished / path.name).write_bytes(path.read_bytes())
    unfinished.rename(target)


def _go(lacking: str) -> str:
    go = shutil.which("go")
    if go is None:
        raise MissingBinaryError(f"{lacking}: install Go 1.26 or newer")
    return go


def _module_of(name: str) -> GoModule:
    return {program: module for module in MODULES for program in module.programs}[name]


@contextmanager
def _locked(path: Path, report: Callable[[str], None]) -> Iterator[None]:
    with path.open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            report(f"waiting for another build in {path.parent}")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _compile(go: str, module: GoModule, name: str, target: Path, report: Callable[[str], None]) -> None:
    report(f"building {name} (minutes with an empty Go build cache, seconds with a warm one)")
    started = time.monotonic()
    with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
        output = Path(scratch) / name
        command = [
            go,
            "build",
            *_BUILD_FLAGS,
            "-ldflags",
            module.ldflags,
            "-o",
            str(output),
            module.programs[name],
        ]
        log = Path(scratch) / "log"
        with (
            log.open("wb") as stderr,
            subprocess.Popen(command, cwd=module.folder, stderr=stderr) as compiler,
        ):
            while True:
                with suppress(subprocess.TimeoutExpired):
                    compiler.wait(timeout=_REPORT_EVERY_SECONDS)
                    break
                report(f"still building {name}, {time.monotonic() - started:.0f} s")
        if compiler.returncode != 0:
            said = log.read_text(errors="replace").strip()
            sys.stderr.write(said + "\n")
            raise MissingBinaryError(f"building {name} failed: {(said or 'no output').splitlines()[-1]}")
        output.rename(target)
    report(f"built {name} in {time.monotonic() - started:.0f} s: {target}")


def main(arguments: Sequence[str]) -> int:
    """Build the programs of a tier; 1 with one line on standard error where that is impossible."""

    def say(line: str) -> None:
        print("lab:", line, flush=True)

    try:
        for name in NODE_TIER if "nodes" in arguments else API_TIER:
            say(str(build(name, say)))
        for path in fetch_official_crds(say):
            say(str(path))
    except MissingBinaryError as missing:
        print(f"lab: {missing}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
