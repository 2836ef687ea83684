"""A real schema registry: Apicurio Registry, with its Confluent-compatible API."""

from __future__ import annotations

import subprocess
import tarfile
from pathlib import Path
from typing import Any

import httpx

from demo.jars import FetchFailed, install, sha256
from dlqadmin.host.network import HOST, free_ports, wait_until

VERSION = "2.5.11.Final"
SHA256 = "f894a17f650ec427de72cfb68edfc30f8020743269293e58372e22f67fd4fd15"  # of the archive
HOME = Path(__file__).resolve().parents[2] / ".local" / "schema-registry"
REGISTRY_VARIABLE = "TEST_SCHEMA_REGISTRY"  # the URL of a registry that the processes of a suite share
START_S = 300  # five seconds on an idle machine
_DEPENDENCY = f"""\
<dependency org="io.apicurio" name="apicurio-registry-app" rev="{VERSION}" transitive="false" conf="default->default">
  <artifact name="apicurio-registry-app" type="tar.gz" ext="tar.gz" m:classifier="all"/>
</dependency>"""


class LocalSchemaRegistry:
    """A registry on a free port. It keeps its schemas in memory."""

    def __init__(self) -> None:
        self.port = free_ports(1)[0]
        self.url = f"http://{HOST}:{self.port}/apis/ccompat/v7"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> LocalSchemaRegistry:
        """Start it, and fetch it the first time."""
        jar = installed() / f"apicurio-registry-app-{VERSION}-runner.jar"
        options = ["-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
        # One request after the other: its database in memory refuses writes that come at the same time.
        options += ["-Dquarkus.thread-pool.max-threads=1", "-Dquarkus.log.level=WARN"]
        options += [f"-Dquarkus.http.host={HOST}", f"-Dquarkus.http.port={self.port}"]
        command = ["java", *options, "-jar", str(jar)]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            wait_until(self._is_ready, "The schema registry", START_S)
        except TimeoutError:
            self.stop()
            raise
        return self

    def stop(self) -> None:
        """Stop it."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def _is_ready(self) -> bool:
        try:
            return httpx.get(f"{self.url}/subjects", timeout=2).status_code == 200
        except httpx.TransportError:
            return False


def register(url: str, subject: str, schema: str, type_: str = "AVRO", references: list[Any] | None = None) -> int:
    """Register a schema and return its id."""
    body = {"schema": schema, "schemaType": type_, "references": references or []}
    answer = httpx.post(f"{url}/subjects/{subject}/versions", json=body, timeout=10).raise_for_status()
    return int(answer.json()["id"])


def installed() -> Path:
    """Return the folder of the registry, fetched from Maven Central the first time."""
    install(HOME, _DEPENDENCY, _unpack)
    return HOME


def _unpack(fetched: Path, folder: Path) -> Path:
    (archive,) = fetched.iterdir()
    if sha256(archive) != SHA256:
        raise FetchFailed(f"{archive.name} does not match its SHA-256, so it was not installed.")
    with tarfile.open(archive) as tar:
        tar.extractall(folder, filter="data")
    return folder
