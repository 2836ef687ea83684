"""The files of a standalone worker: its offsets file, and the directory of one run."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from engine.config.standalone import OFFSETS_FILE
from engine.errors import ConfigError
from engine.standalone import file_topic

CONFIG, STATUS, STDIN, STDOUT = "config", "status", "stdin", "stdout"


@contextmanager
def run_directory(offsets_file: Path) -> Iterator[Path]:
    """Claim the offsets file, and make a directory with the config and status files of one run.

    The directory is private, because configurations hold secrets. It is below `<offsets file>.run`, which is removed in
    the end, or at the next start if this process is killed. Raises ConfigError if the files can't be used.
    """
    base = Path(f"{offsets_file}.run")
    with _claimed(offsets_file):
        directory = _new_directory(base)
        try:
            yield directory
        finally:
            shutil.rmtree(base, ignore_errors=True)


def _new_directory(base: Path) -> Path:
    try:
        shutil.rmtree(base, ignore_errors=True)
        # Fails if another user has made it: then nothing is written there.
        base.mkdir(0o700)
        # A new name for each run: positions in standard input count only with the name of their run.
        directory = Path(tempfile.mkdtemp(dir=base))
        for name in (CONFIG, STATUS):
            file_topic.create(directory / name)
    except OSError as error:
        raise _problem(base, f"can't be used: {error.strerror}") from error
    return directory


@contextmanager
def _claimed(path: Path) -> Iterator[None]:
    """Lock the offsets file for this process, and create it if it does not exist."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # Not the file itself, because its compaction replaces it.
        lock = os.open(f"{path}.lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise _problem(path, f"can't be used: {error.strerror}") from error
    try:
        _lock_and_create(lock, path)
        yield
    finally:
        os.close(lock)


def _lock_and_create(lock: int, path: Path) -> None:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        file_topic.create(path)
    except BlockingIOError:
        raise _problem(path, "is in use by another standalone worker; stop it, or choose another file") from None
    except ValueError as error:
        raise _problem(path, str(error)) from None
    except OSError as error:
        raise _problem(path, f"can't be used: {error.strerror}") from error


def _problem(path: Path, text: str) -> ConfigError:
    return ConfigError(((OFFSETS_FILE, str(path), text),))
