"""A class name occurs once in the code base, so that a search for it finds one class."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("engine", "dlqadmin", "demo", "benchmarks")
# Django gives these names a meaning.
DJANGOS = {"Meta", "Command", "Migration"}


def class_names(source: str) -> list[str]:
    return [node.name for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ClassDef)]


def repeated(sources: dict[str, str]) -> dict[str, list[str]]:
    """Return the files of each name that occurs more than once. A leading underscore makes no other name."""
    files = defaultdict[str, list[str]](list)
    for file, source in sources.items():
        for name in class_names(source):
            if name not in DJANGOS:
                files[name.lstrip("_")].append(file)
    return {name: found for name, found in files.items() if len(found) > 1}


def test_a_class_name_occurs_once() -> None:
    paths = [path for package in PACKAGES for path in sorted(ROOT.joinpath(package).rglob("*.py"))]
    assert len(paths) > 100
    assert repeated({str(path.relative_to(ROOT)): path.read_text() for path in paths}) == {}


def test_a_repeated_name_is_found_with_its_files() -> None:
    sources = {
        "a.py": "class Place: ...\nclass Other:\n    class Meta: ...",
        "b.py": "def make():\n    class _Place: ...\nclass Model:\n    class Meta: ...",
    }
    assert repeated(sources) == {"Place": ["a.py", "b.py"]}
