"""Stand-ins for the container images the clusters run, made of programs that Debian packages installed here.

They carry the names of the images that MCS tests ask for, so that a kubelet finds them and pulls nothing. What
they hold is what those tests call: socat; sh, nslookup, dig, nc, curl, ip and busybox's applets.
"""

from __future__ import annotations

import fcntl
import hashlib
import io
import json
import platform
import re
import shutil
import subprocess
import tarfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

PAUSE = "lab.local/pause:1"
SOCAT = "alpine/socat:1.7.4.4"
NETSHOOT = "nicolaka/netshoot:v0.15"

# Debian's busybox prefers its own applets to programs in PATH, so its shell would never call these.
_REPLACED_APPLETS = {"busybox", "nslookup", "nc", "ip", "sh", "ash"}
_PROGRAMS = ("dash", "socat", "nslookup", "dig", "nc.openbsd", "ip", "curl")
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


class MissingProgramError(Exception):
    """A program that the images are made of is not installed; the message names it."""


def required_programs() -> tuple[str, ...]:
    """What must be found in PATH to make the images."""
    return ("busybox", *_PROGRAMS)


def archive(cache: Path) -> Path:
    """One docker-archive with all images, made in `cache` unless one of the same programs is there.

    Raises MissingProgramError.
    """
    programs = {name: _found(name) for name in required_programs()}
    digest = hashlib.sha256(Path(__file__).read_bytes())
    for path in programs.values():
        state = path.stat()
        digest.update(f"{path} {state.st_size} {state.st_mtime_ns}\n".encode())
    target = cache / f"images-{digest.hexdigest()[:16]}.tar"
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / "images.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not target.is_file():
            unfinished = target.with_suffix(".unfinished")
            write_archive(unfinished, _images(programs))
            unfinished.rename(target)
    return target


@dataclass(frozen=True)
class Image:
    """One image of one layer; `config` is what runs in it by default, as the OCI image specification has it."""

    tag: str
    layer: bytes
    config: Mapping[str, Any]


def _images(programs: Mapping[str, Path]) -> Iterator[Image]:
    busybox = programs["busybox"]
    yield Image(
        PAUSE, layer_of({"/bin/busybox": busybox}), {"Entrypoint": ["/bin/busybox", "sleep", "2147483647"]}
    )
    files = {"/bin/busybox": busybox}
    for name, path in programs.items():
        if name != "busybox":
            files[f"/usr/bin/{name.removesuffix('.openbsd')}"] = path
            files |= {library: Path(library) for library in libraries_of(path)}
    applets = subprocess.run([busybox, "--list"], capture_output=True, text=True, check=True).stdout.split()
    links = {f"/bin/{applet}": "/bin/busybox" for applet in applets if applet not in _REPLACED_APPLETS}
    tools = layer_of(files, links | {"/bin/sh": "/usr/bin/dash"})
    environment = ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"]
    yield Image(SOCAT, tools, {"Env": environment, "Entrypoint": ["socat"]})
    yield Image(NETSHOOT, tools, {"Env": environment, "Cmd": ["/bin/sh"]})


def libraries_of(*programs: Path) -> set[str]:
    """Paths of the shared libraries that the programs are linked with."""
    said = subprocess.run(["ldd", *programs], capture_output=True, text=True, check=False).stdout
    return set(re.findall(r"(/\S+) \(0x", said))


def layer_of(files: Mapping[str, Path], links: Mapping[str, str] | None = None) -> bytes:
    """A tar file of the files by the path each gets, of symbolic links, and of what every program expects.

    Files keep the time of their last change, by which Python knows its bytecode to be that of a source.
    """
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as layer:
        texts = {
            "/etc/passwd": "root:x:0:0:root:/root:/bin/sh\n",
            "/etc/group": "root:x:0:\n",
            "/etc/nsswitch.conf": "hosts: files dns\n",
        }
        folders = {"tmp", "root", "proc", "sys", "dev", "var/run"}
        for name in (*files, *texts, *(links or {})):
            folders |= {str(folder)[1:] for folder in PurePosixPath(name).parents if folder.name}
        for name in sorted(folders):
            entry = tarfile.TarInfo(name)
            entry.type = tarfile.DIRTYPE
            entry.mode = 0o1777 if name == "tmp" else 0o755
            layer.addfile(entry)
        for name, path in files.items():
            _add(layer, name, path.resolve().read_bytes(), 0o755, path.stat().st_mtime)
        for name, text in texts.items():
            _add(layer, name, text.encode(), 0o644)
        for name, target in (links or {}).items():
            entry = tarfile.TarInfo(name[1:])
            entry.type = tarfile.SYMTYPE
            entry.linkname = target
            layer.addfile(entry)
    return buffer.getvalue()


def write_archive(path: Path, images: Iterable[Image]) -> None:
    """Write one docker-archive with all of the images."""
    index: list[Mapping[str, Any]] = []
    written: set[str] = set()
    with tarfile.open(path, "w") as archived:
        for image in images:
            diff = hashlib.sha256(image.layer).hexdigest()
            config = json.dumps(
                {
                    "architecture": _ARCHITECTURES[platform.machine()],
                    "os": "linux",
                    "config": image.config,
                    "rootfs": {"type": "layers", "diff_ids": [f"sha256:{diff}"]},
                    "history": [{}],
                }
            ).encode()
            names = (f"{hashlib.sha256(config).hexdigest()}.json", f"{diff}.tar")
            for name, content in zip(names, (config, image.layer), strict=True):
                if name not in written:
                    written.add(name)
                    _add(archived, name, content, 0o644)
            index.append({"Config": names[0], "RepoTags": [image.tag], "Layers": [names[1]]})
        _add(archived, "manifest.json", json.dumps(index).encode(), 0o644)


def _add(target: tarfile.TarFile, name: str, content: bytes, mode: int, changed: float = 0) -> None:
    entry = tarfile.TarInfo(name.lstrip("/"))
    entry.mode, entry.size, entry.mtime = mode, len(content), int(changed)
    target.addfile(entry, io.BytesIO(content))


def _found(name: str) -> Path:
    path = shutil.which(name)
    if path is None:
        raise MissingProgramError(f"{name} is not installed")
    return Path(path).resolve()


def missing_programs(names: Sequence[str]) -> list[str]:
    """Those of the names that PATH does not have."""
    return [name for name in names if shutil.which(name) is None]
