"""A clock that a test can move while processes run."""

from __future__ import annotations

from pathlib import Path

LIBRARIES = sorted(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"))


class MovableClock:
    """The clock of all processes whose command begins with `prefix`. Only their time of day moves, as in reality.

    It needs libfaketime (Debian: apt-get install faketime).
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self.move(0)

    @property
    def prefix(self) -> tuple[str, ...]:
        """Return the begin of a command whose process has this clock."""
        variables = {
            "LD_PRELOAD": str(LIBRARIES[0]),
            "FAKETIME_TIMESTAMP_FILE": str(self._file),
            "FAKETIME_CACHE_DURATION": "1",  # s until a process notices that the clock was moved
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        }
        return ("env", *(f"{name}={value}" for name, value in variables.items()))

    def move(self, seconds: int) -> None:
        """Put the clock this far from the true time."""
        fresh = self._file.with_suffix(".new")
        fresh.write_text(f"{seconds:+d}\n")
        fresh.replace(self._file)
