"""Rehearsals of the last stage: the engine lets the sink write the records, and rolls back.

The engine does it, because the sandbox has neither the connector's secrets nor a network. The records went through the
connector's converters and transforms in the sandbox first.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from django.contrib.auth.models import User

from dlqadmin.audit.entries import record
from dlqadmin.connectors import client
from dlqadmin.connectors.connect_clusters import own_engine
from dlqadmin.replays.rehearsals.documents import RehearsedPutDocument
from dlqadmin.replays.rehearsals.sandboxed_run import Told
from dlqadmin.replays.rehearsals.verdicts import NOT_REHEARSABLE

AUDITED = "rehearsed put"


class PutTrialAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    """The engine's result of one record, in the words of a stage."""

    state: str
    note: str = ""
    exception_class: str = ""
    message: str = ""
    root_class: str = ""
    root_message: str = ""


class PutAnswer(msgspec.Struct, frozen=True):
    """The engine's answer to a rehearsed put."""

    class_name: str = msgspec.field(name="class")
    table: str
    took_ms: int
    rows_before: int | None
    rows_after: int | None
    records: tuple[PutTrialAnswer, ...]


def rehearse(author: User | None, connector: str, told: Told) -> tuple[Told, Mapping[int, RehearsedPutDocument]]:
    """Rehearse the put of the records that reached it.

    Return the stages with the results, and the put of each record. Without a put, the stage's note says why.
    """
    puts = {number: row["put"] for number, row in told.records.items() if _reached_put(row)}
    if not puts:
        return told, {}
    # Before the call, because a put whose answer is lost had its effects too.
    record(author or "a deleted account", AUDITED, "connector", connector, {"records": len(puts)})
    try:
        answer = _answer(client.rehearse_put(own_engine(), connector, list(puts.values())), len(puts))
    except client.EngineUnavailable:
        return _noted(told, puts, "the engine did not respond to the rehearsal of the put"), {}
    except (client.EngineRefused, msgspec.ValidationError) as error:
        return _noted(told, puts, f"the engine did not rehearse the put: {error}".rstrip(".")), {}
    rows = zip(puts, (msgspec.to_builtins(one) for one in answer.records), strict=True)
    return _with_puts(told, dict(rows)), dict.fromkeys(puts, _document(connector, answer))


def sentence(answer: PutAnswer) -> str:
    """Return the sentence about the whole put."""
    tried, accepted = len(answer.records), sum(one.state == "ok" for one in answer.records)
    wrote = _rows(tried) if accepted == tried else f"{accepted} of {_rows(tried)}"
    name = answer.class_name.rpartition(".")[2]
    return f"{name} wrote {wrote} in one transaction, rolled back after {answer.took_ms} ms. {_counts(answer)}"


def _counts(answer: PutAnswer) -> str:
    before, after = answer.rows_before, answer.rows_after
    if before is None or after is None:
        return f"The rows of table {answer.table} were not counted."
    if before == after:
        return f"Table {answer.table}: {_rows(before)} before and after."
    return f"Table {answer.table}: {_rows(before)} before, {after:,} after, because others write to it."


def _reached_put(row: Mapping[str, Any]) -> bool:
    # Code of plugins ran in the process that wrote the row.
    return bool(row.get("put") and row["stages"] and row["stages"][-1]["state"] == NOT_REHEARSABLE)


def _rows(number: int) -> str:
    return "1 row" if number == 1 else f"{number:,} rows"


def _answer(document: Any, wanted: int) -> PutAnswer:
    answer = msgspec.convert(document, PutAnswer)
    if len(answer.records) != wanted:
        raise msgspec.ValidationError(f"its answer has {len(answer.records)} results for {wanted} records")
    return answer


def _document(connector: str, answer: PutAnswer) -> RehearsedPutDocument:
    return RehearsedPutDocument(
        connector=connector,
        table=answer.table,
        rows=sum(one.state == "ok" for one in answer.records),
        rows_before=answer.rows_before,
        rows_after=answer.rows_after,
        took_ms=answer.took_ms,
        text=sentence(answer),
    )


def _noted(told: Told, numbers: Mapping[int, Any], note: str) -> Told:
    return _with_puts(told, {number: {"state": NOT_REHEARSABLE, "note": note} for number in numbers})


def _with_puts(told: Told, results: Mapping[int, Mapping[str, Any]]) -> Told:
    """Return the records with these results of their last stage. Its row as JSON stays."""
    records = dict(told.records)
    for number, result in results.items():
        *before, put = records[number]["stages"]
        kept = {name: value for name, value in put.items() if name not in ("state", "note")}
        records[number] = {**records[number], "stages": [*before, {**kept, **result}]}
    return msgspec.structs.replace(told, records=records)
