"""A clock of the day that a test moves while processes run."""

from __future__ import annotations

import shutil
import struct
import subprocess
from pathlib import Path

SOURCE = Path(__file__).with_suffix(".c")
# libfaketime makes `time.sleep` of Python 3.11 fail, so the library is our own.
COMPILER = shutil.which("cc") or shutil.which("gcc")


class MovableClock:
    """The clock of all processes whose command begins with `prefix`. It needs a C compiler."""

    def __init__(self, home: Path) -> None:
        assert COMPILER is not None
        home.mkdir(parents=True, exist_ok=True)
        self._library, self._file = home / "moved_clock.so", home / "offset"
        command = [COMPILER, "-shared", "-fPIC", "-O1", "-o", str(self._library), str(SOURCE), "-ldl"]
        subprocess.run(command, check=True)
        self.move(0)

    @property
    def prefix(self) -> tuple[str, ...]:
        """Return the begin of a command whose process has this clock."""
        return ("env", f"LD_PRELOAD={self._library}", f"MOVED_CLOCK={self._file}")

    def move(self, seconds: int) -> None:
        """Put the clock this far from the true time, in running processes, too."""
        with open(self._file, "r+b" if self._file.exists() else "w+b") as file:
            file.write(struct.pack("=q", seconds))
