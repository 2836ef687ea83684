"""Verdicts on rehearsals: the stage that failed before, compared with the result now.

A verdict never says that a replay will succeed. Pure functions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

import msgspec

from engine.record.stage import Stage, StageType

Outlook = Literal["fixed_here", "still_fails", "not_rehearsable", "filtered"]
FIXED: Final = "fixed_here"
FAILS: Final = "still_fails"
NOT_REHEARSABLE: Final = "not_rehearsable"
FILTERED: Final = "filtered"
PASSED = ("ok", "skipped")
NO_SINK = "The sink itself is not rehearsed."
ROLLED_BACK = "The sink wrote its row, and the database rolled it back."


class Verdict(msgspec.Struct, frozen=True):
    """A verdict with its text.

    `before` is the index of the stage that failed before, None if it is unknown.
    """

    verdict: Outlook
    text: str
    before: int | None = None


def verdict(
    stages: Sequence[Mapping[str, str]], rows: Sequence[Mapping[str, Any]], failed: Stage | None, index: int | None
) -> Verdict:
    """Return the verdict on a record that failed before in the stage `failed` at `index`.

    `rows` has one row per stage. A stage without a class is matched by its type, if only one stage has that type.
    """
    before = _place(stages, failed, index)
    was = _lost(failed) if before is None else f"{name_of(stages[before])} failed before"
    states = [row["state"] for row in rows]
    if "failed" in states:
        at = states.index("failed")
        return Verdict(FAILS, _fails(stages, rows[at], at, before, was), before)
    if "filtered" in states:
        at = states.index("filtered")
        text = f"{name_of(stages[at])} filters the record, so it would not reach the sink."
        return Verdict(FILTERED, f"{was}; now {text}" if before is not None else text, before)
    hindered = next((row for row in rows if row["state"] == "not_rehearsable"), {})
    end = next((at for at, state in enumerate(states) if state == "not_rehearsable"), len(states))
    reason = str(hindered.get("note", ""))
    if before is None:
        return Verdict(NOT_REHEARSABLE, f"{was} {_until(stages, end)}".strip())
    if end == len(stages):
        return Verdict(FIXED, f"{was} and passes now. {ROLLED_BACK}", before)
    if before >= end:
        what = f"{reason}." if before == end else f"{name_of(stages[end])} comes before it, and {reason}."
        return Verdict(NOT_REHEARSABLE, f"{was}, but it can't be rehearsed: {what} {_until(stages, end)}", before)
    at_sink = end == len(stages) - 1 and stages[end]["type"] == StageType.TASK_PUT
    left = NO_SINK if at_sink else f"{name_of(stages[end])} is not rehearsed: {reason}."
    return Verdict(FIXED, f"{was} and passes now. {left}", before)


def stopped(stages: Sequence[Mapping[str, str]], at: int, ended: str) -> Verdict:
    """Return the verdict for a rehearsal that ended in a stage, or in a converter before it."""
    return Verdict(NOT_REHEARSABLE, f"{name_of(stages[at])} {ended}.")


def name_of(stage: Mapping[str, str]) -> str:
    """Return the stage's type with its name or class."""
    own = f"'{stage['name']}'" if stage["name"] else f"({stage['class'].rpartition('.')[2]})"
    return f"{stage['type']} {own}"


def _place(stages: Sequence[Mapping[str, str]], failed: Stage | None, index: int | None) -> int | None:
    """Return the current index of the failed stage: its old index, or the only similar stage."""
    if failed is None:
        return None
    alike = [
        at
        for at, stage in enumerate(stages)
        if stage["type"] == failed.type and (not failed.class_name or stage["class"] == failed.class_name)
    ]
    if index in alike:
        return index
    return alike[0] if len(alike) == 1 else None


def _lost(failed: Stage | None) -> str:
    if failed is None:
        return "The stage that failed before is unknown."
    if not failed.class_name:
        return f"The failed stage was a {failed.type}, but it is unknown which one."
    return "The stage that failed before is no longer part of the connector."


def _fails(stages: Sequence[Mapping[str, str]], row: Mapping[str, Any], at: int, before: int | None, was: str) -> str:
    name, message = name_of(stages[at]), str(row.get("message") or row.get("exception_class") or "")
    if before is None:
        return f"{name} fails: {message}"
    if at == before:
        return f"{name} still fails: {message}"
    passes = "; it passes now, but" if at > before else "; now the earlier stage"
    return f"{was}{passes} {name} fails: {message}"


def _until(stages: Sequence[Mapping[str, str]], end: int) -> str:
    if end == 0:
        return ""
    return "All stages before it pass." if end < len(stages) else "All stages pass."
