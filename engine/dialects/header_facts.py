"""Facts in the headers of a dead letter, with a note for each and a sentence for each header that can't be read."""

from __future__ import annotations

from collections.abc import Callable, Collection
from datetime import UTC, datetime
from typing import Literal

import msgspec

from engine.dialects.facts import DeadLetterFacts, FactNote, number, text
from engine.dialects.stack_traces import parse
from engine.record.record import Headers, RawRecord

Hop = Literal["first", "last"]  # of several headers with one name

MAX_SHOWN = 200  # characters of a value in a note
MAX_PARTITION, MAX_OFFSET = 2**31 - 1, 2**63 - 1
UNKNOWN_EXCEPTION = "UnknownException"


class HeaderDialect(msgspec.Struct, frozen=True):
    """A dialect that a header's name identifies.

    - `markers`: a message with one of these headers is a dead letter of this dialect.
    - `prefixes`: the framework's own header names begin so, and nobody else's. A replay leaves them off, whatever the
      dialect of the dead letter.
    - `names`: other headers of the framework. A replay leaves them off only for dead letters of this dialect.
    - `prepends`: the framework writes its headers before those of the failed record. All others append.
    """

    name: str
    title: str
    read: Callable[[RawRecord], DeadLetterFacts | None]
    markers: frozenset[str]
    prefixes: tuple[str, ...] = ()
    names: frozenset[str] = frozenset()
    prepends: bool = False

    def is_first(self, name: str) -> bool:
        """Return whether a dead letter whose first header has this name was written last in this dialect."""
        return self.prepends and name in self.names


class RootCause(msgspec.Struct, frozen=True):
    """The root cause of a failure and its stack trace, "" if there is none."""

    root_class: str
    root_message: str
    trace: str = ""


class HeaderFacts:
    """The headers of one message by name. Each method that reads a fact adds a note or a problem.

    `guessed` marks all facts: the names of the headers are no standard.
    """

    def __init__(self, headers: Headers, guessed: bool = False) -> None:
        self._values: dict[str, list[bytes | None]] = {}
        for name, value in headers:
            self._values.setdefault(name, []).append(value)
        self._guessed = guessed
        self._notes: list[FactNote] = []
        self._problems: list[str] = []

    @property
    def notes(self) -> tuple[FactNote, ...]:
        """The notes in the order of reading."""
        return tuple(self._notes)

    @property
    def problems(self) -> tuple[str, ...]:
        """One sentence for each header that can't be read."""
        return tuple(self._problems)

    def has(self, name: str) -> bool:
        """Return whether a header with this name exists."""
        return name in self._values

    def count(self, name: str) -> int:
        """Return the number of headers with this name."""
        return len(self._values.get(name, ()))

    def bytes_of(self, name: str, hop: Hop = "last") -> bytes | None:
        """Return the header's value, None if it is null or missing."""
        values = self._values.get(name)
        return None if values is None else values[0 if hop == "first" else -1]

    def text(self, field: str, name: str, hop: Hop = "last") -> str:
        """Return a header as text, "" if it is missing."""
        value = text(self.bytes_of(name, hop))
        if value:
            self.note(field, name, value)
        return value

    def decimal(self, field: str, name: str, hop: Hop = "last", most: int = MAX_OFFSET) -> int | None:
        """Return a number that is written as text, from 0 to `most`. None if it is missing or something else."""
        return self._checked(field, name, number(self.bytes_of(name, hop)), hop, "a decimal number", most)

    def binary(
        self, field: str, name: str, sizes: tuple[int, ...], hop: Hop = "last", most: int = MAX_OFFSET
    ) -> int | None:
        """Return a big-endian number of one of these sizes in bytes, from 0 to `most`.

        Some applications replace the binary number by decimal text. Digits are read as text, unless the header has
        one byte: the digits of a real partition or offset would be a number far too large.
        """
        data = self.bytes_of(name, hop)
        if data is not None and data.isdigit() and (len(data) > 1 or 1 not in sizes):
            return self._checked(field, name, number(data), hop, "a number", most, "decimal text")
        value = int.from_bytes(data, "big", signed=True) if data is not None and len(data) in sizes else None
        wanted = f"a number of {' or '.join(map(str, sizes))} bytes"
        return self._checked(field, name, value, hop, wanted, most, f"big-endian, {_size(data)}")

    def all_texts(self, name: str) -> list[str]:
        """Return the values of all headers with this name as text, in their order and without a note."""
        return [text(value) for value in self._values.get(name, ())]

    def all_numbers(self, name: str, sizes: Collection[int], most: int = MAX_OFFSET) -> list[int | None]:
        """Return the big-endian numbers in all headers with this name, in their order, without notes and problems.

        A value is None if its size is none of `sizes`, or if it is not from 0 to `most`.
        """
        return [_big_endian(value, sizes, most) for value in self._values.get(name, ())]

    def note(self, field: str, header: str, value: object, remark: str = "") -> None:
        """Note the header from which a fact was read."""
        source = f"header {header}, {remark}" if remark else f"header {header}"
        self._notes.append(FactNote(field, source, short(value), self._guessed))

    def guess(self, field: str, source: str, value: object) -> None:
        """Note a fact that no header states."""
        self._notes.append(FactNote(field, source, short(value), guessed=True))

    def problem(self, sentence: str) -> None:
        """Add a sentence about something that can't be read."""
        self._problems.append(sentence)

    def copied_timestamp(self, message: RawRecord) -> int | None:
        """Return the record's timestamp, which its writer gave the dead letter too. None if the broker replaced it."""
        if message.timestamp_type != "CREATE_TIME" or message.timestamp < 0:
            return None
        self.guess("produced at", "create time of the dead letter, which the writer copies", message.timestamp)
        return message.timestamp

    def failure(self, raised: str = "", message: str = "", cause: str = "", trace: str = "") -> RootCause:
        """Return the failure that these headers describe, by the names of the headers that exist.

        The root cause is the last exception in the stack trace, else the header `cause`, else `raised`.
        """
        raised_class, cause_class = self.text("exception", raised), self.text("cause", cause)
        said, printed = self.text("message", message), text(self.bytes_of(trace))
        if not printed:
            return RootCause(cause_class or raised_class or UNKNOWN_EXCEPTION, said)
        chain = parse(printed)
        frames = sum(len(link.frames) for link in chain)
        told = f"{_count(len(chain), 'exception')}, {_count(frames, 'frame')}"
        self.note("stack trace", trace, told, f"{len(printed):,} characters")
        if not chain or not chain[-1].class_name:
            return RootCause(cause_class or raised_class or UNKNOWN_EXCEPTION, said, printed)
        root = chain[-1]
        if root.class_name != raised_class:
            self.note("root cause", trace, root.class_name, "last exception of the cause chain")
        return RootCause(root.class_name, root.message or (said if len(chain) == 1 else ""), printed)

    def _checked(
        self, field: str, name: str, value: int | None, hop: Hop, wanted: str, most: int, remark: str = ""
    ) -> int | None:
        data = self.bytes_of(name, hop)
        if data is None:
            return None
        if value is None or not 0 <= value <= most:
            self.problem(f"header {name}: {_size(data)} that are not {wanted}, so the {field} is unknown")
            return None
        self.note(field, name, value, remark)
        return value


def short(value: object) -> str:
    """Return a value as one line of at most 200 characters."""
    line = " ".join(str(value)[: 2 * MAX_SHOWN].split())
    return line if len(line) <= MAX_SHOWN else line[: MAX_SHOWN - 1] + "…"


def milliseconds(iso: str) -> int | None:
    """Return an ISO 8601 time as epoch milliseconds, None for anything else. A time without a zone is UTC."""
    try:
        at = datetime.fromisoformat(iso.strip())
    except ValueError:
        return None
    return int((at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp() * 1000)


def _big_endian(data: bytes | None, sizes: Collection[int], most: int) -> int | None:
    if data is None or len(data) not in sizes:
        return None
    value = int.from_bytes(data, "big", signed=True)
    return value if 0 <= value <= most else None


def _size(data: bytes | None) -> str:
    return "0 bytes" if data is None else f"{len(data)} byte{'' if len(data) == 1 else 's'}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
