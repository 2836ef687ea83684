"""The result of a rehearsal, as it is kept and shown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from dlqadmin.deadletters.models import DeadLetter
from dlqadmin.replays.rehearsing.fencing import Told
from dlqadmin.replays.rehearsing.verdicts import NOT_REHEARSABLE, Verdict

Row = dict[str, Any]


def result(
    row: DeadLetter,
    found: Verdict,
    stages: Iterable[Mapping[str, str]],
    rows: Iterable[Mapping[str, Any]],
    *,
    edited: bool,
) -> Row:
    """The result of one record."""
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
    """The result of a record that no stage was tried with."""
    return result(row, Verdict(NOT_REHEARSABLE, text), (), (), edited=False)


def shown_stages(told: Told, at: int) -> list[Row]:
    """Rows where the rehearsal ended with one stage: nothing is known of the others."""
    rows: list[Row] = [{"state": "not_reached"} for _ in told.stages]
    rows[at] = {"state": NOT_REHEARSABLE, "note": told.trouble}
    return rows
