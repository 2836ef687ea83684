"""The result of a rehearsal, in the format that is stored and shown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from dlqadmin.deadletters.models import DeadLetter
from dlqadmin.replays.rehearsals.sandboxed_run import Told
from dlqadmin.replays.rehearsals.verdicts import NOT_REHEARSABLE, Verdict

Row = dict[str, Any]


def result(
    row: DeadLetter,
    found: Verdict,
    stages: Iterable[Mapping[str, str]],
    rows: Iterable[Mapping[str, Any]],
    *,
    edited: bool,
) -> Row:
    """Return the result of one record."""
    return {
        "dead_letter": {"id": row.pk, "topic": row.topic, "partition": row.partition, "offset": row.offset},
        "connector": row.connector,
        "edited": edited,
        "verdict": found.verdict,
        "text": found.text,
        "failed_before": found.before,
        "stages": [{**stage, **of} for stage, of in zip(stages, rows, strict=True)],
        "produced": None,
    }


def hindered(row: DeadLetter, text: str) -> Row:
    """Return the result of a record that was not rehearsed at all."""
    return result(row, Verdict(NOT_REHEARSABLE, text), (), (), edited=False)


def shown_stages(told: Told, at: int) -> list[Row]:
    """Return stage rows for a rehearsal that ended in the stage `at`. The other stages are unknown."""
    rows: list[Row] = [{"state": "not_reached"} for _ in told.stages]
    rows[at] = {"state": NOT_REHEARSABLE, "note": told.trouble}
    return rows
