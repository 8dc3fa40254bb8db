"""The CustomResourceDefinitions of this project, as they come with the program."""

from collections.abc import Iterator
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

import yaml

import mcs


def definition_documents() -> list[dict[str, Any]]:
    """All of them: from the installed package, else from the checkout beside it."""
    packaged = files("mcs") / "crds"
    folder = packaged if packaged.is_dir() else Path(mcs.__file__).parent.parent / "crds"
    return list(documents_in(folder))


def documents_in(folder: Traversable) -> Iterator[dict[str, Any]]:
    """The objects of the YAML files of a folder, in the order of their names."""
    for file in sorted(folder.iterdir(), key=lambda each: each.name):
        if file.name.endswith(".yaml"):
            yield from (each for each in yaml.safe_load_all(file.read_text("utf-8")) if each)
