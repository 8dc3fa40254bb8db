"""What the layout of the repository promises, where no other tool checks it."""

from __future__ import annotations

import ast
import re
import tomllib
import zipfile
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import hatchling.build
import pytest
import yaml

ROOT = Path(__file__).parents[2]
MAX_LINES = 400
VAGUE_NAMES = {"utils", "util", "helpers", "helper", "common", "misc"}
# Written apart, so that this file does not contain what it looks for.
PRIVATE_PLACES = re.compile(
    r"(?<![\w}])(" + "|".join((r"/ro" + r"ot/", r"/wo" + r"rk/", r"/ho" + r"me/[a-z]")) + ")"
)
REGISTRIES = re.compile(r"://|--(extra-)?index-url|--find-links|pypi|goproxy|@", re.IGNORECASE)
CRD_NAMES = {"serviceexports.multicluster.x-k8s.io", "serviceimports.multicluster.x-k8s.io"}
DOCUMENTS = {
    path: path.read_text()
    for path in (
        *ROOT.glob("*.md"),
        *ROOT.glob("docs/*.md"),
        *ROOT.glob("dns/*.md"),
        *ROOT.glob("charts/*/*.md"),
        *ROOT.glob("tests/**/*.md"),
    )
}
CRDS = {path.name.removesuffix(".yaml"): path for path in sorted((ROOT / "crds").glob("*.yaml"))}


def python_files() -> Iterator[Path]:
    for top in ("mcs", "dns", "tests"):
        yield from sorted((ROOT / top).rglob("*.py"))


def named(paths: list[Path]) -> list[str]:
    return [str(path.relative_to(ROOT)) for path in paths]


def crd(name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load(CRDS[name].read_text())
    return loaded


def test_no_python_file_is_longer_than_a_reader_can_hold() -> None:
    assert named([path for path in python_files() if len(path.read_text().splitlines()) > MAX_LINES]) == []


def test_every_module_says_what_it_is_for() -> None:
    assert named([path for path in python_files() if not docstring(path)]) == []


def docstring(path: Path) -> str | None:
    return ast.get_docstring(ast.parse(path.read_text(), filename=str(path)))


def test_no_module_has_a_name_that_says_nothing() -> None:
    assert named([path for path in python_files() if VAGUE_NAMES & {path.stem, path.parent.name}]) == []


def test_neither_dns_nor_tests_is_a_package() -> None:
    # `dns` is dnspython's import name; a package of ours by that name would hide it from the tests.
    packages = [path for path in python_files() if path.name == "__init__.py"]
    outside = [
        path for path in packages if path.is_relative_to(ROOT / "tests") or path.parent == ROOT / "dns"
    ]
    assert named(outside) == []


@pytest.mark.parametrize("top", ["mcs", "dns/mcs_dns"])
def test_every_folder_of_a_package_is_a_package_and_the_package_is_typed(top: str) -> None:
    folders = {path.parent for path in (ROOT / top).rglob("*.py")}
    assert named(sorted(folder for folder in folders if not (folder / "__init__.py").is_file())) == []
    assert (ROOT / top / "py.typed").is_file()


def test_nothing_written_here_names_a_place_on_the_machine_of_its_author() -> None:
    folders = ("mcs", "dns", "tests", "crds", "docs", "charts", ".ci")
    files = [path for folder in folders for path in (ROOT / folder).rglob("*") if path.is_file()]
    texts = [
        path for path in (*files, *ROOT.glob("*.md"), *ROOT.glob("*.t*"), ROOT / "Makefile") if is_text(path)
    ]
    assert named([path for path in texts if PRIVATE_PLACES.search(path.read_text())]) == []


def is_text(path: Path) -> bool:
    return "__pycache__" not in path.parts and path.suffix not in {".png", ".svg", ".gz", ".pyc", ".bin"}


def test_constraints_pin_exact_versions_and_name_no_registry() -> None:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    assert [line for line in lines if not re.fullmatch(r"[A-Za-z0-9_.-]+==[A-Za-z0-9_.]+", line)] == []
    assert [line for line in lines if REGISTRIES.search(line)] == []


def test_every_direct_dependency_is_pinned() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = list(chain(project["dependencies"], *project["optional-dependencies"].values()))
    pinned = {distribution(line) for line in (ROOT / "constraints.txt").read_text().splitlines()}
    assert {distribution(requirement) for requirement in wanted} - pinned == set()


def distribution(requirement: str) -> str:
    """The normalised name a requirement begins with (PEP 503)."""
    name = re.match(r"[A-Za-z0-9_.-]+", requirement)
    assert name is not None, requirement
    return re.sub(r"[-_.]+", "-", name[0]).lower()


def test_the_crds_of_record_are_named_after_their_files() -> None:
    assert CRDS.keys() >= CRD_NAMES
    assert [name for name in CRDS if crd(name)["metadata"]["name"] != name] == []


def test_the_wheel_holds_both_packages_and_the_crds_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    wheel = zipfile.ZipFile(tmp_path / hatchling.build.build_wheel(str(tmp_path)))
    files = [name for name in wheel.namelist() if ".dist-info/" not in name]
    assert {name.split("/", maxsplit=1)[0] for name in files} == {"mcs", "mcs_dns"}
    assert {"mcs/py.typed", "mcs_dns/py.typed", "mcs/cli/__init__.py"} <= set(files)
    for name, path in CRDS.items():
        assert wheel.read(f"mcs/crds/{name}.yaml") == path.read_bytes()


@pytest.mark.parametrize("name", sorted(CRD_NAMES))
def test_both_versions_of_an_mcs_crd_have_the_same_schema(name: str) -> None:
    # Conversion is `None`: the API server only rewrites apiVersion, so a difference would lose fields.
    alpha, beta = crd(name)["spec"]["versions"]
    assert (alpha["name"], alpha["served"], alpha["storage"]) == ("v1alpha1", True, False)
    assert (beta["name"], beta["served"], beta["storage"]) == ("v1beta1", True, True)
    for field in ("schema", "subresources", "additionalPrinterColumns"):
        assert alpha[field] == beta[field]


def test_continuous_integration_tests_as_a_newcomer_does_and_then_judges_by_real_programs() -> None:
    commands = [
        line.strip()
        for line in (ROOT / ".ci" / "run").read_text().splitlines()
        if line.strip().startswith(("make test", "make check", ".venv", "real_tier test"))
    ]
    assert commands == [
        "make test",
        ".venv/bin/mcs sandbox --check",
        "make check-static",
        "real_tier test-real 'not nodes'",
        "real_tier test-nodes nodes",
    ]
    first, second, *_ = re.findall(r"^\$ (make [a-z-]+)", (ROOT / "README.md").read_text(), re.MULTILINE)
    assert (first, second) == ("make demo", commands[0])


def test_every_target_that_a_document_names_is_one_of_the_makefile() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named_targets = {
        target for text in DOCUMENTS.values() for target in re.findall(r"(?:`|\$ )make ([a-z-]+)", text)
    }
    assert named_targets - targets == set()


def test_every_link_of_a_document_leads_somewhere() -> None:
    links = [
        (path, link)
        for path, text in DOCUMENTS.items()
        for link in re.findall(r"\]\(([^)#]+)\)", text)
        if "://" not in link
    ]
    assert [(str(path), link) for path, link in links if not (path.parent / link).exists()] == []
