"""Repair of broken JSON, by a single edit if possible.

json-repair guesses the meaning. Then a single edit of the bytes with that meaning is searched for.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import msgspec

from dlqadmin.masking.json_spans import NotJson, read, same
from dlqadmin.sandbox import trial
from dlqadmin.sandbox.commands import ConfinedProgram, command

NEAR = 80  # bytes around the fault in which single edits are tried
MAX_SEARCHED_BYTES = 32 * 1024
MAX_READ_BYTES = 3 * 1024 * 1024  # of all tries together: about two seconds
REPAIR_S = 6.0  # a busy machine needs more than one second to start Python
WORKER = Path(__file__).with_name("repair_worker.py")
SIGNS = {b'"': "quote", b",": "comma", b":": "colon", b"}": "closing brace", b"]": "closing bracket"}
ENDS = (b"}", b"]", b'"}', b"]}", b"}]", b'"]', b"}}", b'"]}', b'"}}', b"}]}", b"]}}", b"}}}", b'"}]}')


class Repaired(msgspec.Struct, frozen=True):
    """The repaired JSON, and a description of the single edit. `what` is "" if it was rewritten."""

    data: bytes
    what: str


def repaired(value: bytes, fault: NotJson) -> Repaired | None:
    """Return the repaired value, None if it can't be repaired."""
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
    """Return the output of json-repair, b"" if it fails or takes longer than REPAIR_S.

    A few kilobytes can keep it busy for minutes, so it never runs in our own process.
    """
    try:
        done = subprocess.run(
            command(ConfinedProgram(str(WORKER), shown=(WORKER,)), trial.verdict().means),
            input=value, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            env={}, cwd="/", start_new_session=True, timeout=REPAIR_S, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return b""
    return done.stdout if done.returncode == 0 else b""


def _edits(value: bytes, at: int) -> Iterator[Repaired]:
    """Yield candidates for a repair by one edit.

    One sign is inserted or removed near the fault, or the missing end is added. The nearest positions come first.
    """
    places = sorted(range(max(0, at - NEAR), min(len(value), at + NEAR) + 1), key=lambda place: abs(place - at))
    end = len(value.rstrip())
    for sign, name in SIGNS.items():
        for place in (*places, end):
            yield Repaired(value[:place] + sign + value[place:], f"insert a {name} at byte {place}")
    for closing in ENDS:
        yield Repaired(value[:end] + closing + value[end:], f"append {closing.decode()}")
    for place in places:
        if (sign := value[place : place + 1]) in SIGNS:
            yield Repaired(value[:place] + value[place + 1 :], f"remove a {SIGNS[sign]} at byte {place}")
