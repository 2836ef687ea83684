"""The sentences with which workers are refused."""

from __future__ import annotations

import ast
import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from engine.spark.package import PACKAGE, build_archive
from engine.spark.worker_check import DEPENDENCIES, find_refusal

HOST = socket.gethostname()
CHECK = Path(PACKAGE, "spark", "worker_check.py")
ONLY_IN_DRIVERS = {"__main__.py", "startup", "rest", "spark", "herder", "rehearsal", "dataframes"}
# The checks are loaded from their text, as Spark sends them: without the package around them.
ASK = f"""
import json, runpy, sys
find_refusal = runpy.run_path({str(CHECK)!r})["find_refusal"]
print(json.dumps(find_refusal(sys.argv[1], sys.argv[2:])))
"""


def ask(folder: Path, archive: str, *dependencies: str, path: str = "") -> str | None:
    """Return the refusal of a worker with this import path."""
    done = subprocess.run(
        [sys.executable, "-c", ASK, archive, *dependencies],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path, "PYTHONSAFEPATH": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    answer: str | None = json.loads(done.stdout)
    return answer


def test_a_worker_with_the_drivers_archive_and_all_dependencies_may_work(tmp_path: Path) -> None:
    archive = build_archive(tmp_path)
    assert ask(tmp_path, archive.name, *DEPENDENCIES, path=str(archive)) is None


def test_a_worker_without_a_dependency_is_refused(tmp_path: Path) -> None:
    archive = build_archive(tmp_path)
    assert ask(tmp_path, archive.name, "msgspec", "no_such", "no_such.child", path=str(archive)) == (
        f"The worker on {HOST} lacks no_such, no_such.child: install the engine's requirements there,"
        " or send an environment that python -m engine.spark.pack has made."
    )


def test_a_worker_with_another_engine_is_refused() -> None:
    assert find_refusal("engine-0-0.zip", ()) == (
        f"The worker on {HOST} imports the engine from {PACKAGE.parent}, not from engine-0-0.zip of the driver:"
        " remove the other copy from the worker's Python environment."
    )


def test_a_worker_without_an_engine_is_refused(tmp_path: Path) -> None:
    assert ask(tmp_path, "engine-0-0.zip") == (
        f"The worker on {HOST} can't import the engine from engine-0-0.zip:"
        " remove spark.executorEnv.* and spark.python.* options that replace its Python path."
    )


def test_the_dependencies_are_what_the_code_of_leases_imports() -> None:
    imported = {
        name
        for file in PACKAGE.rglob("*.py")
        if file.relative_to(PACKAGE).parts[0] not in ONLY_IN_DRIVERS
        for name in imports(file)
        if name.partition(".")[0] not in {*sys.stdlib_module_names, "engine"}
    }
    tops = {"google.protobuf" if name.startswith("google.protobuf") else name.partition(".")[0] for name in imported}
    assert sorted(tops) == list(DEPENDENCIES)


def imports(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            yield node.module
