"""A fence that keeps rehearsed steps from effects outside of their process. It can't be removed again.

It stops Python's own modules by audit events (PEP 578), and C libraries loaded with ctypes. It is not a sandbox,
because other native code raises no audit events. The dashboard adds a sandbox around this process.
"""

from __future__ import annotations

import _posixsubprocess
import os
import sys
from typing import Any, NoReturn

_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_NETWORK, _PROCESS, _FILES = "use the network", "start another program", "change files"
_LIBRARY, _LOG = "call a C library", "write to the system log"
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
    **dict.fromkeys(("resource.setrlimit", "resource.prlimit"), "change resource limits"),
    "sqlite3.connect": "open a database",
    **dict.fromkeys(("os.kill", "os.killpg"), "send a signal"),
}


class ForbiddenAccess(Exception):
    """Raised when a step tries to reach out of its process."""


class ProcessFence:
    """The fence; it remembers refused actions, because a step may hide the exception."""

    def __init__(self) -> None:
        self._tried = ""

    def raise_up(self) -> None:
        """Refuse, from now on, all effects outside of the process by Python's own means or ctypes."""
        sys.addaudithook(self._audit)
        # Multiprocessing starts programs with it, and Python does not audit it.
        _posixsubprocess.fork_exec = self._start

    def tried(self) -> str:
        """Return the first action refused since the last call, as `use the network`. Else an empty text."""
        tried, self._tried = self._tried, ""
        return tried

    def _start(self, *_: Any) -> int:
        self._refuse(_PROCESS)

    def _refuse(self, act: str) -> NoReturn:
        self._tried = self._tried or act
        raise ForbiddenAccess(f"a rehearsal must not {act}")

    def _audit(self, event: str, given: tuple[Any, ...]) -> None:
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
