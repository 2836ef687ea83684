"""The messages that the writers wrote, as files: `recorded/<writer>.json`."""

from __future__ import annotations

from pathlib import Path

import msgspec

from engine.record.record import RawRecord

FOLDER = Path(__file__).with_name("recorded")


class Origin(msgspec.Struct, frozen=True):
    """A record that the writer consumed, and the cause for which it failed, or ""."""

    cause: str
    record: RawRecord


class Recording(msgspec.Struct, frozen=True):
    """The messages that one writer consumed and wrote, and how they were made.

    Bytes are base64, timestamps epoch milliseconds.
    """

    writer: str
    program: str
    libraries: tuple[str, ...]
    runtime: str
    broker: str
    made_by: str
    group: str
    origins: tuple[Origin, ...]
    letters: tuple[RawRecord, ...]


def load(writer: str) -> Recording:
    """Return the committed recording of a writer."""
    return msgspec.json.decode((FOLDER / f"{writer}.json").read_bytes(), type=Recording)


def save(recording: Recording) -> None:
    """Write a recording."""
    text = msgspec.json.format(msgspec.json.encode(recording), indent=1)
    (FOLDER / f"{recording.writer}.json").write_bytes(text + b"\n")
