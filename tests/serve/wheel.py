"""The wheel as `make package` builds it, from a copy of the clone, because a build leaves files behind."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

from tests.suites import ROOT

BUILT_FROM = (
    "pyproject.toml", "setup.py", "requirements.txt", "README.md", "LICENSE", "dlqadmin", "engine",
    "frontend/package.json", "frontend/index.html", "frontend/vite.config.ts", "frontend/tsconfig.json",
    "frontend/src", "frontend/public", "frontend/dist",
)  # fmt: skip


def copy_sources(folder: Path) -> Path:
    """Copy what the wheel is built from, with its times, and return the folder."""
    for name in BUILT_FROM:
        source, target = ROOT / name, folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy2(source, target)
    # The frontend of a fresh checkout is built before the tests, by `make test`.
    (folder / "frontend/dist/index.html").touch()
    return folder


def build(sources: Path, folder: Path) -> Path:
    """Build the wheel into the folder and return it."""
    options = ("--no-deps", "--no-build-isolation", "--no-index", "--quiet", "--disable-pip-version-check")
    command = [sys.executable, "-m", "pip", "wheel", *options, "--wheel-dir", str(folder), str(sources)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    [found] = folder.glob("*.whl")
    return found


def unpack(wheel: Path, folder: Path) -> Path:
    """Unpack the wheel as an installation does, without its scripts."""
    with ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder
