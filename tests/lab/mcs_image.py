"""An image with `mcs` on its PATH, as the chart asks for: the Python that runs the tests, and this checkout."""

from __future__ import annotations

import re
import sys
import sysconfig
from collections.abc import Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from tests.lab.images import Image, layer_of, libraries_of, write_archive

REPOSITORY = "lab.local/mcs"

_ROOT = Path(__file__).parents[2]
_PACKAGES = "/opt/mcs"
_SOURCES = {"mcs": "mcs", "dns/mcs_dns": "mcs_dns", "crds": "mcs/crds"}
_NEVER_IMPORTED = {"site-packages", "test", "idlelib", "tkinter", "ensurepip", "lib2to3"}


def archive(folder: Path, tag: str) -> Path:
    """A docker-archive with the image REPOSITORY:tag, written into the folder."""
    python, script = Path(sys.executable).resolve(), folder / "mcs"
    script.write_text(f"#!{python}\nfrom mcs.cli.main import main\n\nmain()\n")
    files = {"/usr/local/bin/mcs": script, str(python): python}
    standard_library = Path(sysconfig.get_path("stdlib"))
    files |= {str(path): path for path in _files(standard_library)}
    for each in _with_dependencies("mcs-controller"):
        files |= _installed(each)
    for source, target in _SOURCES.items():
        for path in _files(_ROOT / source):
            files[f"{_PACKAGES}/{target}/{path.relative_to(_ROOT / source)}"] = path
    compiled = [path for path in files.values() if ".so" in path.suffixes]
    files |= {library: Path(library) for library in libraries_of(python, *compiled)}
    environment = ["PATH=/usr/local/bin", f"PYTHONPATH={_PACKAGES}"]
    written = folder / "mcs.tar"
    write_archive(written, [Image(f"{REPOSITORY}:{tag}", layer_of(files), {"Env": environment})])
    return written


def _files(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.rglob("*")):
        if (
            path.is_file()
            and path.suffix != ".a"
            and not _is_bytecode_of_another_python(path)
            and not _NEVER_IMPORTED & set(path.relative_to(folder).parts)
        ):
            yield path


def _is_bytecode_of_another_python(path: Path) -> bool:
    # Without that of this Python, each start would compile everything that it imports anew.
    return path.suffix == ".pyc" and not path.name.endswith(f".{sys.implementation.cache_tag}.pyc")


def _installed(package: Distribution) -> dict[str, Path]:
    paths = {str(path): Path(str(package.locate_file(path))) for path in package.files or ()}
    return {
        f"{_PACKAGES}/{name}": path
        for name, path in paths.items()
        if not name.startswith("..") and path.is_file() and not _is_bytecode_of_another_python(path)
    }


def _with_dependencies(name: str) -> Iterator[Distribution]:
    seen: set[str] = set()
    waiting = [name]
    while waiting:
        name = waiting.pop().lower()
        if name in seen:
            continue
        seen.add(name)
        try:
            package = distribution(name)
        except PackageNotFoundError:
            # Wanted only by another platform or another Python.
            continue
        yield package
        for requirement in package.requires or ():
            if "extra ==" not in requirement:
                waiting += re.findall(r"^[\w.-]+", requirement)
