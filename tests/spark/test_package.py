"""The archive of the engine that a driver sends along."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

from engine.config.plugin_versions import VERSION
from engine.spark.package import PACKAGE, archive_name, build_archive


@pytest.fixture
def package(tmp_path: Path) -> Path:
    folder = tmp_path / "source" / "engine"
    folder.mkdir(parents=True)
    (folder / "__init__.py").touch()
    (folder / "steps.py").write_text("ONE = 1\n")
    return folder


def test_its_bytes_depend_on_the_source_alone(package: Path, tmp_path: Path) -> None:
    first = build_archive(tmp_path / "first", package)
    os.utime(package / "steps.py", (1, 1))
    (package / "__pycache__").mkdir()
    (package / "__pycache__" / "steps.cpython-311.pyc").write_bytes(b"compiled")
    (package / "steps.py").chmod(0o600)
    second = build_archive(tmp_path / "second", package)
    assert first.name == second.name == archive_name(package)
    assert first.read_bytes() == second.read_bytes()


def test_another_source_has_another_name(package: Path) -> None:
    before = archive_name(package)
    (package / "steps.py").write_text("ONE = 2\n")
    assert archive_name(package) != before
    assert before.startswith(f"engine-{VERSION}-")


def test_code_that_moves_between_two_files_changes_the_name(package: Path) -> None:
    before = archive_name(package)
    (package / "steps.py").rename(package / "step.py")
    assert archive_name(package) != before


def test_it_holds_the_whole_package_and_leases_import_from_it(tmp_path: Path) -> None:
    archive = build_archive(tmp_path)
    with ZipFile(archive) as opened:
        names = set(opened.namelist())
    assert {path.relative_to(PACKAGE.parent).as_posix() for path in PACKAGE.rglob("*.py")} <= names
    assert not [name for name in names if name.endswith(".pyc")]
    code = "import engine.assembly.lease as lease; print(lease.__file__)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(archive), "PYTHONSAFEPATH": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == f"{archive}/engine/assembly/lease.py"
