"""Dead letters of many writers, and what the index exports of each."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pyarrow as pa

from dlqadmin.deadletters.index.letter_rows import LETTERS
from dlqadmin.deadletters.index.message_parser import parse_message
from dlqadmin.deadletters.models import TimeSource
from engine.dataframes.deadletters_columns import COLUMNS
from engine.dialects.stack_traces import join
from engine.record.record import RawRecord
from tests.dlqadmin.deadletters.letters import letter, plain
from tests.engine.dialects.test_quick import POINTER, WHOLE
from tests.interop.recordings import load
from tests.interop.writer_programs import WRITERS

NEVER = datetime(2100, 1, 1, tzinfo=UTC)
ODD = (
    letter(1, value=None, headers=(("trace-id", b"\x00\xff"), ("none", None))),
    letter(2, message="two\nlines and \0", exception="", key=None),
    plain(3, b"no dead letter"),
    plain(4, None),
    plain(5, POINTER),
    *(plain(6 + number, value) for number, value in enumerate(WHOLE.values())),
    plain(20, b"x", headers=((f"h{'x' * 20_000}", b"long"),)),
)


def recorded() -> list[RawRecord]:
    """Return the dead letters that real programs of other frameworks wrote."""
    return [message for writer in WRITERS for message in load(writer.name).letters]


def indexed(message: RawRecord) -> dict[str, Any]:
    """Return the columns that the export of the indexed message has, as far as the data source has them."""
    parsed = parse_message(message, NEVER)
    row = dict(zip(list(LETTERS.columns)[4:], parsed.letter, strict=True))
    row |= {
        "failed_at": None if parsed.time_source == TimeSource.INDEX else row["failed_at"],
        "origin_topic": row["origin_topic"] or None,
        "connector": row["connector"] or None,
        "task_id": row["task_id"] or None,
        "stage": parsed.fingerprint.stage,
        "exception_class": parsed.fingerprint.exception_class,
        "trace": join(parsed.trace.heads, parsed.trace.frames) or None,
        "key": parsed.key,
        "value": parsed.value,
        "headers": [{"name": name[:10_000], "value": value} for name, value in message.headers],
    }
    return {name: row[name] for name in COLUMNS if name != "timestamp"}


def rows_of(batches: list[pa.RecordBatch]) -> list[dict[str, Any]]:
    """Return the rows of record batches."""
    return [row for batch in batches for row in batch.to_pylist()]
