"""A real OpenSearch node, from the jars of its server on Maven Central."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import httpx

from benchmarks.anchors import SEARCH_MODULES
from demo.jars import class_path
from dlqadmin.host.network import HOST, free_ports, wait_until

HERE = Path(__file__).parent
HOME = Path(__file__).resolve().parents[3] / ".local" / "opensearch"
START_S = 120  # some seconds on an idle machine


class OpenSearchNode:
    """A node on a free port. Its folder may be used again by a node that is started later."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.ports = free_ports(2)
        self.url = f"http://{HOST}:{self.ports[0]}"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> OpenSearchNode:
        """Start it, and fetch its jars the first time."""
        (self.folder / "config").mkdir(parents=True, exist_ok=True)
        options = ["-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
        options.append(f"-Dopensearch.path.conf={self.folder}/config")
        command = ["java", *options, "-cp", installed()]
        command += [str(HERE / "OpenSearch.java"), str(self.folder), *map(str, self.ports)]
        with (self.folder / "log.txt").open("ab") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log)
        try:
            wait_until(self._is_ready, "OpenSearch", START_S)
        except TimeoutError:
            self.kill()
            raise
        return self

    def kill(self) -> None:
        """End it without warning."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def documents(self, index: str) -> dict[str, Any]:
        """All documents of an index, by id."""
        httpx.post(f"{self.url}/{index}/_refresh", timeout=30).raise_for_status()
        found = httpx.post(f"{self.url}/{index}/_search", json={"size": 10_000}, timeout=30).raise_for_status().json()
        return {hit["_id"]: hit["_source"] for hit in found["hits"]["hits"]}

    def put(self, path: str, body: Any) -> None:
        """Send a PUT request, as for a mapping or a setting."""
        httpx.put(f"{self.url}/{path}", json=body, timeout=30).raise_for_status()

    def _is_ready(self) -> bool:
        try:
            return httpx.get(self.url, timeout=2).status_code == 200
        except httpx.TransportError:
            return False


def installed() -> str:
    """Return the class path of a node, whose jars are fetched from Maven Central the first time."""
    return class_path(HOME, SEARCH_MODULES)
