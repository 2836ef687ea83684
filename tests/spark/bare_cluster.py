"""A Spark cluster whose workers hold nothing of this repository: each has its own directory and Python environment."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, distribution, packages_distributions
from pathlib import Path
from typing import Any

from engine.spark.worker_check import DEPENDENCIES
from tests.chaos.spark_cluster import SparkCluster

LIBRARIES = sysconfig.get_path("purelib")


class BareCluster(SparkCluster):
    """Its workers find `python3` on their PATH, in an environment of their own."""

    def surroundings(self, number: int) -> dict[str, Any]:
        home = self.home / f"host-{number}"
        path = os.pathsep.join([str(self.environment(number) / "bin"), os.environ["PATH"]])
        return {"cwd": home, "env": {"PATH": path, "PYTHONPATH": ""}}

    def environment(self, number: int) -> Path:
        """Return the worker's virtual environment, which has the libraries of this one."""
        folder = self.home / f"host-{number}" / "environment"
        if not folder.exists():
            make_environment(folder)
        return folder

    def libraries(self, number: int) -> Path:
        """Return the folder where the worker's Python looks for libraries first."""
        [packages] = self.environment(number).glob("lib/python*/site-packages")
        return packages

    def run_python(self, number: int, code: str) -> subprocess.CompletedProcess[str]:
        """Run code with a worker's Python in the worker's directory."""
        around = self.surroundings(number)
        command = [str(self.environment(number) / "bin/python3"), "-c", code]
        return subprocess.run(
            command, cwd=around["cwd"], env={**os.environ, **around["env"]}, capture_output=True, text=True, check=False
        )


def make_full_environment(folder: Path) -> Path:
    """Make a virtual environment that has the dependencies of leases by itself, and return its Python.

    Libraries are links to those of this environment, which a packed environment follows.
    """
    make_environment(folder)
    [packages] = folder.glob("lib/python*/site-packages")
    (packages / "libraries.pth").unlink()
    for name in required_files(DEPENDENCIES):
        (packages / name).symlink_to(Path(LIBRARIES, name))
    return folder / "bin/python"


def required_files(modules: Sequence[str]) -> set[str]:
    """Return the files and folders of these modules and of what they require."""
    owners = packages_distributions()
    left = {owner for module in modules for owner in owners[module.partition(".")[0]]}
    seen: set[str] = set()
    found: set[str] = set()
    while left:
        name = left.pop()
        seen.add(name)
        try:
            package = distribution(name)
        except PackageNotFoundError:  # not needed with this Python
            continue
        found |= {file.parts[0] for file in package.files or () if file.parts[0] != ".."}
        needed = [required for required in package.requires or () if "extra ==" not in required]
        left |= {re.split(r"[^\w.-]", required)[0] for required in needed} - seen
    return {name for name in found if Path(LIBRARIES, name).exists() and name != "__pycache__"} - {"pyspark", "py4j"}


def make_environment(folder: Path) -> None:
    """Make a virtual environment without pip that has the libraries of this one."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True, capture_output=True)
    [packages] = folder.glob("lib/python*/site-packages")
    (packages / "libraries.pth").write_text(f"{LIBRARIES}\n")
