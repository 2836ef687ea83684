"""A real PostgreSQL server on a free port."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from dlqadmin.host.network import HOST, free_ports

USER = "postgres"
FORGETFUL = {"fsync": "off"}


class PostgresMissing(Exception):
    """PostgreSQL's server programs are not installed."""


class LocalPostgres:
    """A PostgreSQL server with its own settings.

    Its data are deleted when it stops, unless it was given a home.
    """

    def __init__(self, home: Path | None = None, options: Mapping[str, str] = FORGETFUL) -> None:
        self.programs = _programs()
        self.port = free_ports(1)[0]
        self._keeps = home is not None
        self.home = home or Path(tempfile.mkdtemp(prefix="dlqadmin-postgres-"))
        self._options = options

    @property
    def url(self) -> str:
        """Return the database URL, in the form of DATABASE_URL."""
        return f"postgresql://{USER}@{HOST}:{self.port}/postgres"

    def start(self) -> LocalPostgres:
        """Start the server. Create its cluster first if it does not exist."""
        self.home.mkdir(parents=True, exist_ok=True)
        if os.geteuid() == 0:
            shutil.chown(self.home, USER)
        if not Path(self._data).exists():
            self._run(
                "initdb", "-U", USER, "--auth=trust", "--encoding=UTF8", "--locale=C.UTF-8", "-N", "-D", self._data
            )
        given = " ".join(f"-c {name}={value}" for name, value in self._options.items())
        options = f"-p {self.port} -c listen_addresses={HOST} -c unix_socket_directories= {given}"
        log = str(self.home / "log")
        self._run("pg_ctl", "start", "-w", "-t", "60", "-D", self._data, "-l", log, "-o", options)
        return self

    def stop(self) -> None:
        """Stop the server, and delete its data if it was given no home."""
        self._run("pg_ctl", "stop", "-w", "-m", "fast" if self._keeps else "immediate", "-D", self._data)
        if not self._keeps:
            shutil.rmtree(self.home, ignore_errors=True)

    @property
    def _data(self) -> str:
        return str(self.home / "data")

    def _run(self, program: str, *arguments: str) -> None:
        # PostgreSQL refuses to run as root. Debian's package creates the user.
        as_user = ["runuser", "-u", USER, "--"] if os.geteuid() == 0 else []
        command = [*as_user, str(self.programs / program), *arguments]
        # The output goes to a file, because the server inherits the descriptors and would keep a pipe open.
        with Path(tempfile.gettempdir(), f"{self.home.name}.log").open("w+") as output:
            done = subprocess.run(command, stdout=output, stderr=output, cwd="/", check=False)
            output.seek(0)
            text = output.read()
        Path(output.name).unlink()
        if done.returncode != 0:
            raise RuntimeError(f"{program} failed:\n{text}")


def _programs() -> Path:
    pg_ctl = shutil.which("pg_ctl")
    if pg_ctl is not None:
        return Path(pg_ctl).parent
    versions = sorted(Path("/usr/lib/postgresql").glob("*/bin/pg_ctl"), key=lambda path: int(path.parent.parent.name))
    if not versions:
        raise PostgresMissing("PostgreSQL is not installed (Debian: apt-get install postgresql)")
    return versions[-1].parent
