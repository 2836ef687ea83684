"""Standard input and output of a standalone worker, for tasks in other processes.

Spark's Python workers don't have the driver's streams. So the driver copies standard input to a file, which a
FileStreamSource reads like any growing file. A FileStreamSink writes to a named pipe, which the driver copies to
standard output.
"""

from __future__ import annotations

import logging
import os
import select
import sys
import threading
from pathlib import Path

from engine.standalone.directory import STDIN, STDOUT

READ_BYTES = 1 << 16
LOOK_S = 0.1
log = logging.getLogger(__name__)


class Console:
    """The relays of one run. Standard input is only read if `reads_input`: another process may want it."""

    def __init__(self, directory: Path, *, reads_input: bool) -> None:
        self._input = directory / STDIN
        self._stopping = threading.Event()
        output = directory / STDOUT
        os.mkfifo(output, 0o600)
        # Opened for both: without a writer of its own, the pipe would end when the first task closes it.
        self._output = os.open(output, os.O_RDWR | os.O_NONBLOCK)
        self._writing = threading.Thread(target=self._write, name="standard-output", daemon=True)
        self._writing.start()
        if reads_input:
            self._input.touch(0o600)
            # A daemon, because it may wait for input for ever.
            threading.Thread(target=self._read, name="standard-input", daemon=True).start()

    def close(self) -> None:
        """Write what the tasks have left in the pipe, and stop."""
        self._stopping.set()
        self._writing.join()

    def _read(self) -> None:
        try:
            with self._input.open("ab") as file:
                while data := os.read(sys.stdin.fileno(), READ_BYTES):
                    file.write(data)
                    file.flush()
        except OSError as error:
            log.error("standard input is no longer read: %s", error.strerror)  # noqa: TRY400, no trace of our own code
            return
        log.info("standard input has ended; the worker goes on until it is stopped")

    def _write(self) -> None:
        try:
            while self._copy() or not self._stopping.is_set():
                pass
        except OSError as error:
            log.warning("values can't be written to standard output: %s", error.strerror)
        finally:
            os.close(self._output)  # without a reader, puts fail instead of filling the pipe

    def _copy(self) -> bool:
        """Copy what is in the pipe; return False if there is nothing."""
        if not select.select([self._output], [], [], 0 if self._stopping.is_set() else LOOK_S)[0]:
            return False
        sys.stdout.buffer.write(os.read(self._output, READ_BYTES))
        sys.stdout.buffer.flush()
        return True
