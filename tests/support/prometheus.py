"""A Prometheus server of this machine, for tests."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from dlqadmin.host.network import HOST, free_ports, is_answering, wait_until

START_TIMEOUT_S = 30
SCRAPE = """\
global: {{scrape_interval: 1s, evaluation_interval: 1s}}
rule_files: [{rules}]
scrape_configs:
  - job_name: dlqadmin
    authorization: {{credentials_file: {token}}}
    static_configs: [{{targets: ["{target}"]}}]
"""


class PrometheusMissing(Exception):
    """The machine has no Prometheus. Debian's package `prometheus` brings the server and promtool."""


def find(program: str) -> str:
    """Return the path of `prometheus` or `promtool`. Raises PrometheusMissing."""
    found = shutil.which(program)
    if found is None:
        raise PrometheusMissing(f"{program} is not on the PATH; install Debian's package prometheus")
    return found


class LocalPrometheus:
    """A server that scrapes one target with a token, and evaluates a file of rules, every second."""

    def __init__(self, home: Path, target: str, token: str, rules: Path) -> None:
        self.port = free_ports(1)[0]
        self.url = f"http://{HOST}:{self.port}"
        self._home = home
        (home / "token").write_text(token)
        config = SCRAPE.format(rules=rules, token=home / "token", target=target)
        (home / "prometheus.yml").write_text(config)
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> LocalPrometheus:
        """Start the server and return when it answers."""
        command = [
            find("prometheus"),
            f"--config.file={self._home / 'prometheus.yml'}",
            f"--storage.tsdb.path={self._home / 'data'}",
            f"--web.listen-address={HOST}:{self.port}",
        ]
        with (self._home / "prometheus.log").open("wb") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log)
        wait_until(lambda: is_answering(HOST, self.port), f"Prometheus on port {self.port}", START_TIMEOUT_S)
        return self

    def stop(self) -> None:
        """End the server."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait()
            self._process = None
