"""A Spark cluster whose workers hold nothing of this repository: each has its own directory and Python environment."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

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


def make_environment(folder: Path) -> None:
    """Make a virtual environment without pip that has the libraries of this one."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True, capture_output=True)
    [packages] = folder.glob("lib/python*/site-packages")
    (packages / "libraries.pth").write_text(f"{LIBRARIES}\n")
