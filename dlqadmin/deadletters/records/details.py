"""The details of one dead letter. Its dialect reads the stored bytes again."""

from __future__ import annotations

from dlqadmin.deadletters.groups.documents import GroupDocument
from dlqadmin.deadletters.index.active_mappings import active_mappings
from dlqadmin.deadletters.index.column_values import moment, unpack_headers
from dlqadmin.deadletters.models import LOST, DeadLetter, DeadLetterBody, ErasedRecord, Original, TimeSource
from dlqadmin.deadletters.payloads import Part, PayloadDocument, RecordReader, header, payload, release, shown_texts
from dlqadmin.deadletters.records.documents import (
    AttemptDocument,
    CauseDocument,
    DeadLetterDetail,
    DialectDocument,
    ErasedDocument,
    EventDocument,
    ExceptionDocument,
    FactDocument,
    FrameDocument,
    NamedText,
    ReadingNote,
    SourceDocument,
    StageDocument,
)
from dlqadmin.deadletters.search.documents import NeighbourIds, row_document
from dlqadmin.deadletters.search.fields import FACTS
from dlqadmin.rest.documents import extend
from dlqadmin.rest.times import iso, iso_or_none
from engine import dialects
from engine.config.masking import mask, mask_url, plain_options
from engine.dialects.facts import DeadLetterFacts, FactNote
from engine.dialects.stack_traces import join, parse
from engine.record.record import RawRecord


def message_of_letter(row: DeadLetter) -> RawRecord:
    """Return the dead letter as it is in its topic."""
    body = row.body
    return RawRecord(
        topic=row.topic,
        partition=row.partition,
        offset=row.offset,
        timestamp=-1,
        timestamp_type="NO_TIMESTAMP_TYPE",
        key=as_bytes(body.key),
        value=as_bytes(body.value if body.context is None else body.context),
        headers=unpack_headers(bytes(body.headers)),
    )


def detail(row: DeadLetter, reader: RecordReader, group: GroupDocument, neighbours: NeighbourIds) -> DeadLetterDetail:
    """Return all that is known of a dead letter."""
    message = message_of_letter(row)
    facts, erased = _facts(row, message), _erased(row)
    body = row.body
    return extend(
        DeadLetterDetail,
        row_document(row, reader),
        group=group,
        neighbours=neighbours,
        cluster=row.cluster,
        time_source=TimeSource(row.time_source) if row.time_source else None,
        origin_timestamp=iso_or_none(row.origin_timestamp),
        indexed_at=iso(row.indexed_at),
        first_failure_at=iso_or_none(row.first_failure_at),
        elapsed_ms=row.elapsed_ms,
        attempt=row.attempt,
        attempts=_attempts(facts),
        original=Original(row.original),
        not_allowed=(body.refused or "") if row.original == Original.FORBIDDEN else None,
        erased=erased,
        has_record=facts.has_record,
        source=_source(facts, reader),
        dialect=shown_texts(
            DialectDocument(
                name=facts.dialect,
                title=dialects.title(facts.dialect),
                version=facts.version,
                notes=[
                    ReadingNote(field=note.field, read_from=note.read_from, value=note.value, guessed=note.guessed)
                    for note in (*facts.notes, *_time_note(row))
                ],
                problems=list(facts.problems),
            ),
            reader,
        ),
        stages=_stages(facts),
        exception=shown_texts(_exception(row, facts), reader),
        key=_payload(row, body.key, reader, "key"),
        value=_payload(row, body.value, reader, "value"),
        context=payload(as_bytes(body.context), reader),
        headers=[header(name, value, reader) for name, value in message.headers],
        timeline=_timeline(row, facts, erased),
        truncated=row.truncated,
        facts=[
            FactDocument(name=field.name, label=field.label, value=reader.text(str(value)))
            for field in FACTS
            if (value := getattr(row, field.column)) not in (None, "")
        ],
    )


def _facts(row: DeadLetter, message: RawRecord) -> DeadLetterFacts:
    """Return what the dialect reads. Of an erased dead letter only the index's own columns are left."""
    if row.original != Original.ERASED:
        return active_mappings().read(message)
    return DeadLetterFacts(
        dialect=row.dialect,
        stage=row.fingerprint.stage,
        root_class=row.fingerprint.exception_class,
        root_message="",
        readable=row.readable,
    )


def _erased(row: DeadLetter) -> ErasedDocument | None:
    if row.original != Original.ERASED:
        return None
    # Not the manager of topics in reach: the reader reaches this dead letter, perhaps by its connector alone.
    places = ErasedRecord._base_manager.filter(
        cluster=row.cluster, topic=row.topic, partition=row.partition, offset=row.offset
    )
    if (found := places.first()) is None:
        return ErasedDocument(at=iso(row.indexed_at), erasure=None)
    return ErasedDocument(at=iso(found.at), erasure=f"X-{found.erasure}")


def _payload(row: DeadLetter, data: bytes | memoryview | None, reader: RecordReader, part: Part) -> PayloadDocument:
    """Return a payload for the API. Bytes that are not available are unknown, which differs from null."""
    shown = payload(as_bytes(data), reader, part=part)
    if data is None and row.original in LOST:
        shown.is_null = False
    return shown


def part_bytes(body: DeadLetterBody, name: str, reader: RecordReader) -> bytes | None:
    """Return the bytes of one part: context, key or value.

    A dead letter that carries the original value is its own context.
    """
    if name == "context" and body.context is not None:
        return release(as_bytes(body.context), reader)
    return reader.part("key", as_bytes(body.key)) if name == "key" else reader.part("value", as_bytes(body.value))


def as_bytes(value: bytes | memoryview | None) -> bytes | None:
    """Return a binary column as bytes, independent of the database driver."""
    return None if value is None else bytes(value)


def _time_note(row: DeadLetter) -> tuple[FactNote, ...]:
    """Return the note of the time of the failure, unless the writer stated it or an older version indexed the row."""
    if row.time_source in (None, TimeSource.WRITER):
        return ()
    return (FactNote("failed at", TimeSource(row.time_source).label, iso(row.failed_at), guessed=True),)


def _stages(facts: DeadLetterFacts) -> list[StageDocument]:
    failed = len(facts.stages) if facts.index is None else facts.index
    return [
        StageDocument(
            index=index,
            type=str(stage.type),
            name=stage.name,
            class_name=stage.class_name,
            config=mask(stage.config, plain=plain_options(stage.class_name)),
            state="passed" if index < failed else "failed" if index == failed else "not_reached",
        )
        for index, stage in enumerate(facts.stages)
    ]


def _source(facts: DeadLetterFacts, reader: RecordReader) -> SourceDocument | None:
    """Return the source coordinates of a record; None for records that were consumed from Kafka."""
    source = facts.source
    if source is None:
        return None
    return SourceDocument(
        partition=[
            NamedText(name=name, value=reader.text(mask_url(value))) for name, value in source.partition.items()
        ],
        offset=[NamedText(name=name, value=reader.text(mask_url(value))) for name, value in source.offset.items()],
        schema=source.schema,
        value=release(source.value, reader),
        withheld=source.value is not None and not reader.reads_all,
    )


def _exception(row: DeadLetter, facts: DeadLetterFacts) -> ExceptionDocument:
    text = join(row.body.trace_heads, row.trace.text) if row.trace else ""
    return ExceptionDocument(
        class_name=facts.root_class,
        message=facts.root_message,
        text=text,
        chain=[
            CauseDocument(
                class_name=link.class_name,
                message=link.message,
                frames=[
                    FrameDocument(
                        file=frame.file,
                        line=frame.line,
                        function=frame.function,
                        application=frame.application,
                    )
                    for frame in link.frames
                ],
            )
            for link in parse(text)
        ],
    )


def _attempts(facts: DeadLetterFacts) -> list[AttemptDocument]:
    return [
        AttemptDocument(
            number=attempt.number,
            topic=attempt.topic or None,
            partition=attempt.partition,
            offset=attempt.offset,
            due_at=iso_or_none(moment(attempt.due_at)),
            failed_at=iso_or_none(moment(attempt.failed_at)),
        )
        for attempt in facts.attempts
    ]


def _timeline(row: DeadLetter, facts: DeadLetterFacts, erased: ErasedDocument | None) -> list[EventDocument]:
    """Return the known events in causal order, whatever their timestamps say. Unknown events are left out."""
    stage = row.fingerprint.stage
    events = []
    if row.origin_timestamp:
        events.append((row.origin_timestamp, "produced", f"Produced to {row.origin_topic}"))
    retries = "1 retry" if row.attempt == 1 else f"{row.attempt} retries"
    if row.first_failure_at and row.attempt:
        events.append((row.first_failure_at, "failed", f"Failed at {stage}"))
        events.append((row.failed_at, "error", f"Failed again after {retries}: error"))
    elif row.readable:
        told = "" if row.attempt is None else f" after {retries}" if row.attempt else ", not retried"
        by = "; the time is an upper bound" if row.time_source == TimeSource.INDEX else ""
        events.append((row.failed_at, "failed", f"Failed at {stage}{told}{by}"))
    if row.time_source != TimeSource.INDEX:
        events.append((row.failed_at, "dead_lettered", f"Dead-lettered to {row.topic}"))
    events.append((row.indexed_at, "indexed", _index_event(row, facts)))
    shown = [EventDocument(at=iso(at), kind=kind, text=text) for at, kind, text in events]
    if erased is not None:
        by = f" ({erased.erasure})" if erased.erasure else ""
        shown.append(EventDocument(at=erased.at, kind="erased", text=f"Content erased{by}"))
    return shown


def _index_event(row: DeadLetter, facts: DeadLetterFacts) -> str:
    if not facts.has_record:
        return "Indexed; the error concerns no record"
    if row.original == Original.ERASED:
        return "Indexed"
    if row.original == Original.FETCHED:
        return "Indexed; original bytes fetched from the origin"
    if row.original == Original.EXPIRED:
        return "Indexed; the origin no longer contains the original bytes"
    if row.original == Original.UNKNOWN:
        return "Indexed; the original bytes are unknown"
    if row.original == Original.FORBIDDEN:
        return f"Indexed; the original was not fetched: not allowed ({row.body.refused})"
    return "Indexed; original bytes kept"
