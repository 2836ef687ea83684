"""A reader of matching dead letters in id order. It reads in slices to bound memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import BigIntegerField, Case, F, Func
from django.db.models.functions import Coalesce
from django.db.models.sql.compiler import SQLCompiler

from dlqadmin.deadletters.index.column_values import unpack_headers
from dlqadmin.deadletters.models import LOST, DeadLetter, Trace
from dlqadmin.deadletters.payloads import PayloadReader, header_value
from dlqadmin.deadletters.records.details import as_bytes
from dlqadmin.deadletters.replay_marks import STATE
from dlqadmin.deadletters.search.byte_search import probes, read_bytes
from dlqadmin.deadletters.search.candidates import MAX_VALUE_BYTES
from dlqadmin.deadletters.search.fields import EXPORTED, FieldHome
from dlqadmin.deadletters.search.filter_queries import apply
from dlqadmin.deadletters.search.filters import Filters
from dlqadmin.deadletters.search.time_limits import bounded
from engine.dialects.stack_traces import join

SPAN_IDS = 100_000  # range of ids that one query searches
WINDOW_ROWS = 25_000  # rows that one query returns at most
SLICE_ROWS = 200
SLICE_BYTES = 4 * 1024 * 1024
QUERY_S = 30.0
JOINED: dict[str, F | Case] = {
    field.export_name: STATE if field.home is FieldHome.MARK else F(f"fingerprint__{field.column}")
    for field in EXPORTED
    if field.home in (FieldHome.FINGERPRINT, FieldHome.MARK)
}
OWN = tuple(field.export_name for field in EXPORTED if field.export_name not in JOINED)
EMPTY_IS_NULL = tuple(field.export_name for field in EXPORTED if field.empty_is_null)


class ByteLength(Func):
    """The size of a column in bytes. For text columns, SQLite counts characters."""

    function = "OCTET_LENGTH"
    output_field = BigIntegerField()

    def as_sqlite(self, compiler: SQLCompiler, connection: BaseDatabaseWrapper, **more: Any) -> tuple[str, Any]:
        """Use LENGTH, because SQLite before 3.43 has no OCTET_LENGTH."""
        return self.as_sql(compiler, connection, function="LENGTH", **more)


LENGTHS = ("body__headers", "body__original_headers", "trace__text", "body__trace_heads", "decoded__json")
SIZES = [Coalesce(size, 0) for size in ("key_size", "value_size", *map(ByteLength, LENGTHS))]
QUOTING = ("message", "trace", "fingerprint_message", "group_title")  # columns that may quote masked values
DECODED = {"decoded_value": F("decoded__json")}  # searched in place of the value, and not exported
# A dead letter by column name: facts as stored, key and value as bytes, headers as pairs.
Row = dict[str, Any]


class _RowSource(NamedTuple):
    topic: str
    connector: str
    cluster: str
    origin_topic: str


def slices(filters: Filters, after: int, last: int, reader: PayloadReader) -> Iterator[list[Row]]:
    """Yield slices of the matching dead letters with `after` < id <= `last`. Raises QueryTimedOut.

    A slice comes at least every 60 seconds (two queries of 30 seconds). It is empty if nothing matches.
    """
    passes, traces = _byte_check(filters), dict[str, str]()
    searched = DECODED if filters.probed else {}
    while after < last:
        with bounded(QUERY_S):
            found, after = _next_window(filters.unprobed(), after, last)
        if not found:
            yield []
        for ids in _cut_slices(found):
            with bounded(QUERY_S):
                rows = [row for row in _rows(ids, searched) if passes(row)]
                traces = _traces({row["trace_id"] for row in rows if row["trace_id"]}, traces)
            yield [_complete_row(row, traces, reader) for row in rows]


def _byte_check(filters: Filters) -> Callable[[Row], bool]:
    """Return a check for the filters that only a row's bytes can decide.

    The check reads the same bytes as the dashboard's lists.
    """
    asked = probes(filters.include, filters.exclude)

    def passes(row: Row) -> bool:
        short = (row["value_size"] or 0) <= MAX_VALUE_BYTES
        decoded = row.pop("decoded_value")
        value = row["value"] if decoded is None else decoded
        record = read_bytes(value if short else None, row["packed"], row["fetched"])
        return all(probe.passes(record) for probe in asked)

    return passes if asked else lambda _: True


def _next_window(filters: Filters, after: int, last: int) -> tuple[list[tuple[int, int]], int]:
    """Return the next matching ids with their size in bytes, and the last id searched.

    The range of ids bounds the query if few rows match. The number of rows bounds it if many match.
    """
    rows = DeadLetter.objects.filter(id__gt=after, id__lte=last).order_by("id")
    first = rows.values_list("id", flat=True).first()
    if first is None:
        return [], last
    end = min(first + SPAN_IDS - 1, last)
    matching = apply(filters, rows.filter(id__lte=end)).values_list("id", *SIZES)
    found = [(pk, sum(sizes)) for pk, *sizes in matching[:WINDOW_ROWS]]
    return found, found[-1][0] if len(found) == WINDOW_ROWS else end


def _cut_slices(found: Sequence[tuple[int, int]]) -> Iterator[list[int]]:
    """Cut the ids into slices of at most 200 dead letters and about 4 MB."""
    ids: list[int] = []
    size = 0
    for pk, bytes_ in found:
        ids.append(pk)
        size += bytes_
        if len(ids) >= SLICE_ROWS or size >= SLICE_BYTES:
            yield ids
            ids, size = [], 0
    if ids:
        yield ids


def _rows(ids: Sequence[int], searched: Mapping[str, F]) -> list[Row]:
    """Return these dead letters, with the columns that only the search reads."""
    return list(
        DeadLetter.objects.filter(pk__in=ids)
        .order_by("id")
        .values(
            *OWN,
            "trace_id",
            "value_size",
            **JOINED,
            key=F("body__key"),
            value=F("body__value"),
            packed=F("body__headers"),
            fetched=F("body__original_headers"),
            heads=F("body__trace_heads"),
            **searched,
        )
    )


def _traces(digests: set[str], known: dict[str, str]) -> dict[str, str]:
    """Return the texts of these traces. Traces of the previous slice are not read again."""
    kept = {digest: known[digest] for digest in digests & known.keys()}
    if missing := digests - kept.keys():
        kept |= dict(Trace.objects.filter(pk__in=missing).values_list("pk", "text"))
    return kept


def _complete_row(row: Row, traces: dict[str, str], reader: PayloadReader) -> Row:
    own = reader.of(_RowSource(row["topic"], row["connector"], row["cluster"], row["origin_topic"] or ""))
    packed = as_bytes(row.pop("packed"))
    del row["fetched"], row["value_size"]
    heads, frames = row.pop("heads"), traces.get(row.pop("trace_id"))
    row["trace"] = None if frames is None else join(heads, frames)
    headers = unpack_headers(packed) if packed else ()
    if own.masks is not None:
        own = own if row["original"] in LOST else own.knowing(as_bytes(row["key"]), as_bytes(row["value"]), headers)
        row |= {name: own.text(value) for name, value in row.items() if name in QUOTING and isinstance(value, str)}
        row["key_text"] = own.key_text(row.get("key_text"))
    row["key"], row["value"] = own.part("key", as_bytes(row["key"])), own.part("value", as_bytes(row["value"]))
    row["headers"] = tuple((name, header_value(name, value, own)) for name, value in headers)
    for name in EMPTY_IS_NULL:
        row[name] = row[name] or None
    return row
