"""Clients of Kafka Connect by others, at pinned versions, installed into a folder of the test."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

SCRIPTS = Path(__file__).with_name("scripts")
INSTALL_TIMEOUT_S, RUN_TIMEOUT_S = 300, 300
POM = """\
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion><groupId>local</groupId><artifactId>client</artifactId><version>1</version>
  <dependencies><dependency>
    <groupId>org.sourcelab</groupId><artifactId>kafka-connect-client</artifactId><version>{version}</version>
  </dependency></dependencies>
</project>
"""


class ConnectClient(NamedTuple):
    """A client: `install(folder, version)` returns the command that runs its script, and its environment."""

    name: str
    registry: str
    version: str
    install: Callable[[Path, str], tuple[Sequence[str], Mapping[str, str]]]

    def run(self, command: Sequence[str], env: Mapping[str, str], url: str, folder: Path) -> str:
        """Run the script against a worker; return what it prints. Raises RuntimeError."""
        done = subprocess.run(
            [*command, url, str(folder)], capture_output=True, text=True, check=False, timeout=RUN_TIMEOUT_S,
            env={**os.environ, **env},
        )  # fmt: skip
        if done.returncode != 0:
            raise RuntimeError(f"{self.name} failed at {url}:\n{done.stderr[-2000:]}")
        return done.stdout


def _python(package: str, script: str) -> Callable[[Path, str], tuple[Sequence[str], Mapping[str, str]]]:
    def install(folder: Path, version: str) -> tuple[Sequence[str], Mapping[str, str]]:
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(folder)]
        _run([*pip, f"{package}=={version}"], folder)
        return [sys.executable, str(SCRIPTS / script)], {"PYTHONPATH": str(folder)}

    return install


def _npm(folder: Path, version: str) -> tuple[Sequence[str], Mapping[str, str]]:
    npm = ["npm", "install", "--silent", "--no-save", "--prefix", str(folder)]
    _run([*npm, f"kafka-connect-client@{version}"], folder)
    return ["node", str(SCRIPTS / "kafka_connect_client.js")], {"NODE_PATH": str(folder / "node_modules")}


def _maven(folder: Path, version: str) -> tuple[Sequence[str], Mapping[str, str]]:
    (folder / "pom.xml").write_text(POM.format(version=version))
    _run(["mvn", "--batch-mode", "--quiet", "dependency:copy-dependencies", "-DoutputDirectory=jars"], folder)
    return ["java", "-cp", f"{folder}/jars/*", str(SCRIPTS / "SourcelabClient.java")], {}


CLIENTS = (
    ConnectClient("kafka-connect-py", "PyPI", "1.0.0", _python("kafka-connect-py", "kafka_connect_py.py")),
    ConnectClient("kafka-connect-api", "PyPI", "0.5.10", _python("kafka-connect-api", "kafka_connect_api_client.py")),
    ConnectClient(
        "kafka-connect-healthcheck",
        "PyPI",
        "0.3.0",
        _python("kafka-connect-healthcheck", "kafka_connect_healthcheck_client.py"),
    ),
    ConnectClient("kafka-connect-client", "npm", "2.3.0", _npm),
    ConnectClient("org.sourcelab:kafka-connect-client", "Maven Central", "4.0.4", _maven),
)


def _run(command: Sequence[str], folder: Path) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=INSTALL_TIMEOUT_S)
    if done.returncode != 0:
        raise RuntimeError(f"{command[0]} could not install the client:\n{done.stdout[-1000:]}{done.stderr[-1000:]}")
