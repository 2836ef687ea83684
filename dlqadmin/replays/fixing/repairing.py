"""Broken JSON made whole: json-repair says what was meant, then one edit of the bytes that means it is looked for."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec

from dlqadmin.replays.fixing.spans import NotJson, read, same

NEAR = 80  # bytes before and behind the fault in which one edit is tried
MAX_SEARCHED_BYTES = 32 * 1024
MAX_READ_BYTES = 3 * 1024 * 1024  # of all tries together: about two seconds
REPAIR_S = 2.0
WORKER = Path(__file__).with_name("repair_worker.py")
SIGNS = {b'"': "quote", b",": "comma", b":": "colon", b"}": "closing brace", b"]": "closing bracket"}
ENDS = (b"}", b"]", b'"}', b"]}", b"}]", b'"]', b"}}", b'"]}', b'"}}', b"}]}", b"]}}", b"}}}", b'"}]}')


class Repaired(msgspec.Struct, frozen=True):
    """The whole JSON, and in words the one edit that made it; none where it is written anew."""

    data: bytes
    what: str


def repaired(value: bytes, fault: NotJson) -> Repaired | None:
    """The value made whole; None where nothing is to be made of it."""
    meant = _meant(value)
    if meant.strip() in (b"", b'""', b"{}", b"[]"):
        return None
    try:
        wanted = read(meant)
    except NotJson:
        return None
    if wanted.kind not in ("object", "array"):
        return None
    if len(value) <= MAX_SEARCHED_BYTES:
        left = MAX_READ_BYTES
        for found in _edits(value, fault.at):
            try:
                if same(read(found.data), wanted):
                    return found
                left -= len(found.data)
            except NotJson as error:
                left -= error.at
            if left < 0:
                break
    return Repaired(meant, "")


def _meant(value: bytes) -> bytes:
    """What json-repair makes of it; nothing where it can't, or needs longer than two seconds.

    A text of a few kilobytes can keep it busy for minutes: so it never runs in our process.
    """
    try:
        done = subprocess.run(
            [sys.executable, "-I", str(WORKER)], input=value, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            env={}, cwd="/", timeout=REPAIR_S, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return b""
    return done.stdout if done.returncode == 0 else b""


def _edits(value: bytes, at: int) -> Iterator[Repaired]:
    """One sign put in or taken out, the nearest to the fault first; or what is missing at the end."""
    places = sorted(range(max(0, at - NEAR), min(len(value), at + NEAR) + 1), key=lambda place: abs(place - at))
    end = len(value.rstrip())
    for sign, name in SIGNS.items():
        for place in (*places, end):
            yield Repaired(value[:place] + sign + value[place:], f"put a {name} in at byte {place}")
    for closing in ENDS:
        yield Repaired(value[:end] + closing + value[end:], f"put {closing.decode()} in at the end")
    for place in places:
        if (sign := value[place : place + 1]) in SIGNS:
            yield Repaired(value[:place] + value[place + 1 :], f"take a {SIGNS[sign]} out at byte {place}")
