"""`python -m engine.spark.pack` on real virtual environments."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from tests.spark.bare_cluster import LIBRARIES
from tests.spark.engine_process import ROOT

VERSION = f"python{sys.version_info.major}.{sys.version_info.minor}"
LOOK = """
import json, os, sqlite3, ssl, sys, greeting
print(json.dumps([sys.prefix, sys.executable, os.__file__, ssl.__file__, greeting.__file__, greeting.TEXT]))
"""


@pytest.fixture
def environment(tmp_path: Path) -> Path:
    """A virtual environment with two libraries, one of them Spark's."""
    folder = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True, capture_output=True)
    packages = libraries(folder)
    (packages / "greeting.py").write_text("TEXT = 'hello'\n")
    (packages / "pyspark" / "jars").mkdir(parents=True)
    (packages / "pyspark" / "jars" / "spark.jar").touch()
    return folder


def libraries(environment: Path) -> Path:
    [packages] = environment.glob("lib/python*/site-packages")
    return packages


def pack(python: Path, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(ROOT), LIBRARIES])
    return subprocess.run(
        [python, "-m", "engine.spark.pack", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )


def test_an_environment_runs_from_any_directory_with_a_python_of_its_own(environment: Path, tmp_path: Path) -> None:
    done = pack(environment / "bin/python", tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-2:] == [
        f"spark.archives={tmp_path}/environment.tar.gz#environment",
        "spark.pyspark.python=./environment/bin/python",
    ]
    assert len(list(tmp_path.glob("engine-*.zip"))) == 1
    elsewhere = tmp_path / "else where"
    with tarfile.open(tmp_path / "environment.tar.gz") as archive:
        names = archive.getnames()
        archive.extractall(elsewhere / "environment", filter="tar")
    assert not [name for name in names if "pyspark" in name or f"{VERSION}/test/" in name]
    shutil.rmtree(environment)
    ran = subprocess.run(
        ["./environment/bin/python", "-c", LOOK], cwd=elsewhere, env={}, capture_output=True, text=True, check=True
    )
    *paths, text = json.loads(ran.stdout)
    assert text == "hello"
    assert [path for path in paths if not path.startswith(f"{elsewhere}/environment")] == []


def test_a_file_that_exists_is_left_alone(environment: Path, tmp_path: Path) -> None:
    target = tmp_path / "mine.tar.gz"
    target.write_text("mine")
    done = pack(environment / "bin/python", tmp_path, "mine.tar.gz")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "mine.tar.gz exists: remove it, or name another file.\n"
    assert target.read_text() == "mine"


def test_a_directory_that_is_missing_is_named(environment: Path, tmp_path: Path) -> None:
    done = pack(environment / "bin/python", tmp_path, "no/where.tar.gz")
    assert (done.returncode, done.stderr) == (1, "no is not a directory: create it, or name another file.\n")


def test_a_python_outside_an_environment_is_refused(environment: Path, tmp_path: Path) -> None:
    python = (environment / "bin/python").resolve()
    done = pack(python, tmp_path)
    assert done.returncode == 1
    assert done.stderr == (
        f"{python} is not in a virtual environment: run the command with the Python of one that has the engine's"
        " requirements.\n"
    )


def test_a_library_that_is_only_a_link_is_refused(environment: Path, tmp_path: Path) -> None:
    file = libraries(environment) / "mine.pth"
    file.write_text("/src/mine\n")
    done = pack(environment / "bin/python", tmp_path)
    assert done.returncode == 1
    assert done.stderr == (
        f"{file} links to /src/mine, which other machines do not have: install that library as a copy, without the"
        " option --editable.\n"
    )
    assert not list(tmp_path.glob("environment.tar.gz*"))
