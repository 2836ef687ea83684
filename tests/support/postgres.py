"""A real PostgreSQL server of our own: a fresh cluster in a temporary directory, on a free port."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from demo.network import HOST, free_ports

USER = "postgres"


class PostgresMissing(Exception):
    """PostgreSQL's server programs are not installed."""


class Postgres:
    """One server; it keeps nothing after stop."""

    def __init__(self) -> None:
        self.programs = _programs()
        self.port = free_ports(1)[0]
        self.home = Path(tempfile.mkdtemp(prefix="dlqadmin-postgres-"))

    @property
    def url(self) -> str:
        """Its database, as DATABASE_URL wants it."""
        return f"postgresql://{USER}@{HOST}:{self.port}/postgres"

    def start(self) -> Postgres:
        """Make the cluster and start the server."""
        if os.geteuid() == 0:
            shutil.chown(self.home, USER)
        self._run("initdb", "-U", USER, "--auth=trust", "--encoding=UTF8", "--locale=C.UTF-8", "-N", "-D", self._data)
        options = f"-p {self.port} -c listen_addresses={HOST} -k {self.home} -c fsync=off"
        log = str(self.home / "log")
        self._run("pg_ctl", "start", "-w", "-t", "60", "-D", self._data, "-l", log, "-o", options)
        return self

    def stop(self) -> None:
        """Stop the server and forget its data."""
        self._run("pg_ctl", "stop", "-w", "-m", "immediate", "-D", self._data)
        shutil.rmtree(self.home, ignore_errors=True)

    @property
    def _data(self) -> str:
        return str(self.home / "data")

    def _run(self, program: str, *arguments: str) -> None:
        # PostgreSQL refuses to run as root; Debian's package brings the user.
        as_user = ["runuser", "-u", USER, "--"] if os.geteuid() == 0 else []
        command = [*as_user, str(self.programs / program), *arguments]
        # Its output goes to a file: the server inherits the descriptors, and a pipe would never end.
        with Path(tempfile.gettempdir(), f"{self.home.name}.log").open("w+") as output:
            done = subprocess.run(command, stdout=output, stderr=output, cwd="/", check=False)
            output.seek(0)
            text = output.read()
        Path(output.name).unlink()
        if done.returncode != 0:
            raise RuntimeError(f"{program} failed:\n{text}")


def _programs() -> Path:
    found = shutil.which("pg_ctl")
    if found is not None:
        return Path(found).parent
    versions = sorted(Path("/usr/lib/postgresql").glob("*/bin/pg_ctl"), key=lambda path: int(path.parent.parent.name))
    if not versions:
        raise PostgresMissing("PostgreSQL is not installed (Debian: apt-get install postgresql)")
    return versions[-1].parent
