"""Become a command that the kernel kills when the parent process ends, however it ends.

`python -m dlqadmin.host.bound_process PARENT COMMAND …`; PARENT is the id of the parent process.
Otherwise the processes of a killed supervisor would keep their ports, and would write beside those of the next one.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1  # prctl(2); it survives an exec


def main(arguments: list[str]) -> None:
    """Bind this process to its parent, and become the command. It must run in the parent's main thread."""
    parent, *command = arguments
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != int(parent):  # it ended before the binding
        sys.exit(1)
    os.execvp(command[0], command)


if __name__ == "__main__":
    main(sys.argv[1:])
