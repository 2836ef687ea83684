"""Try to break out of the sandbox that runs this file, and print the successful attempts.

The output is a JSON array of clauses. The input is `{"hidden": [path, …], "port": n}`: files that
exist outside, and a listening port on 127.0.0.1.
"""

from __future__ import annotations

import json
import os
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

MOST_DESCRIPTORS = 256


def main() -> None:
    """Try each act, and print those that succeed."""
    outside = json.load(sys.stdin)
    acts: dict[str, Callable[[], Any]] = {
        **{f"read {path}": Path(path).read_bytes for path in outside["hidden"]},
        "connect to this machine": lambda: socket.create_connection(("127.0.0.1", outside["port"]), timeout=1).close(),
        "see its own session's leader": _find_leader,
        "see processes of others": lambda: Path("/proc/1/environ").read_bytes(),
        "write a file": _write,
        "use descriptors of its parent": _find_descriptor,
        "change the host's name": lambda: socket.sethostname(socket.gethostname()),
        "change its root": lambda: os.chroot("/"),
        "see an environment": _find_environment,
    }
    json.dump([name for name, act in acts.items() if _succeeds(act)], sys.stdout)


def _succeeds(act: Callable[[], Any]) -> bool:
    try:
        act()
    except OSError:
        return False
    return True


def _write() -> None:
    written = Path(f"/written-by-{os.getpid()}")
    written.touch(exist_ok=False)
    written.unlink()


def _find_leader() -> None:
    """Find the session leader, which the caller started outside of this process name space.

    In another process name space the leader has no number, so getsid returns 0.
    """
    if os.getsid(0) == 0:
        raise ProcessLookupError


def _find_descriptor() -> None:
    for number in range(3, MOST_DESCRIPTORS):
        try:
            os.fstat(number)
        except OSError:
            continue
        return
    raise OSError


def _find_environment() -> None:
    if set(os.environ) <= {"LC_CTYPE"}:
        raise OSError


if __name__ == "__main__":
    main()
