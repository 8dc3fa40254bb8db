"""Programs of Debian packages that are unpacked into the cache: to install them would change the machine.

They are downloaded once, by apt-get with whatever sources the machine has.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path

from tests.lab.binaries import MissingBinaryError, cache_root


def unpacked(package: str, *, version_of: str = "") -> Path:
    """The folder with what the package would install below /, if possible in the version that `version_of` has here.

    Raises MissingBinaryError where it cannot be had.
    """
    target = cache_root() / package
    if target.is_dir():
        return target
    if shutil.which("apt-get") is None:
        raise MissingBinaryError(f"{package} is not installed, and there is no apt-get to download it")
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
        folder = Path(scratch)
        _download(package, version_of, folder)
        (archive,) = folder.glob("*.deb")
        _output(folder, "dpkg-deb", "--extract", str(archive), "unpacked")
        (folder / "unpacked").rename(target)
    return target


def _download(package: str, version_of: str, folder: Path) -> None:
    try:
        _download_known(package, version_of, folder)
    except MissingBinaryError:
        # A new machine may know of no packages yet.
        _output(folder, "apt-get", "update")
        _download_known(package, version_of, folder)


def _download_known(package: str, version_of: str, folder: Path) -> None:
    if version_of:
        with suppress(MissingBinaryError):
            version = _output(folder, "dpkg-query", "--show", "--showformat=${Version}", version_of)
            _output(folder, "apt-get", "download", f"{package}={version}")
            return
    _output(folder, "apt-get", "download", package)


def _output(folder: Path, *command: str) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise MissingBinaryError(f"{' '.join(command)}: {' '.join(done.stderr.split()[-40:])}")
    return done.stdout
