"""What a rehearsed step must not do: reach out of its process. For a process of its own: there is no way back.

It holds what reaches out by Python's modules, which audit it (PEP 578), and by C libraries that ctypes loads. It is no
sandbox: what other native code does is audited by nobody, and only bounded from outside.
"""

from __future__ import annotations

import _posixsubprocess
import os
import sys
from typing import Any, NoReturn

_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_NETWORK, _PROCESS, _FILES = "use the network", "start another program", "change files"
_LIBRARY, _LOG = "call a C library", "write to the system's log"
_EVENTS = {
    **dict.fromkeys(("socket.connect", "socket.bind", "socket.sendto", "socket.sendmsg"), _NETWORK),
    **dict.fromkeys(("socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr"), _NETWORK),
    **dict.fromkeys(("subprocess.Popen", "os.system", "os.exec", "os.spawn", "os.posix_spawn"), _PROCESS),
    **dict.fromkeys(("os.fork", "os.forkpty", "pty.spawn"), _PROCESS),
    **dict.fromkeys(("os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.link", "os.symlink"), _FILES),
    **dict.fromkeys(("os.truncate", "os.chmod", "os.chown", "os.utime"), _FILES),
    **dict.fromkeys(("os.setxattr", "os.removexattr"), _FILES),
    **dict.fromkeys(("ctypes.dlsym", "ctypes.dlsym/handle"), _LIBRARY),
    **dict.fromkeys(("syslog.openlog", "syslog.syslog"), _LOG),
    **dict.fromkeys(("resource.setrlimit", "resource.prlimit"), "change its limits"),
    "sqlite3.connect": "open a database",
    **dict.fromkeys(("os.kill", "os.killpg"), "send a signal"),
}


class ReachedOut(Exception):
    """A step tried to reach out of its process; it was kept from it."""


class Fence:
    """Remembers what was tried, since a step may hide that it was refused."""

    def __init__(self) -> None:
        self._tried = ""

    def raise_up(self) -> None:
        """From now on nothing in this process reaches out by Python's own means, or by ctypes."""
        sys.addaudithook(self._look)
        _posixsubprocess.fork_exec = self._start  # multiprocessing starts programs by it, which Python does not audit

    def tried(self) -> str:
        """What was tried since the last question, as `use the network`; empty for nothing."""
        tried, self._tried = self._tried, ""
        return tried

    def _start(self, *_: Any) -> int:
        self._refuse(_PROCESS)

    def _refuse(self, act: str) -> NoReturn:
        self._tried = self._tried or act
        raise ReachedOut(f"a rehearsal must not {act}")

    def _look(self, event: str, given: tuple[Any, ...]) -> None:
        act = _EVENTS.get(event)
        if event == "open" and _writes(given):
            act = _FILES
        elif event == "ctypes.dlopen" and given[0] is not None:  # importing ctypes opens None
            act = _LIBRARY
        if act is not None:
            self._refuse(act)


def _writes(given: tuple[Any, ...]) -> bool:
    _, mode, flags = given
    return bool(isinstance(flags, int) and flags & _WRITING) or (
        isinstance(mode, str) and any(c in mode for c in "wax+")
    )
