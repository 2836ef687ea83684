"""Kafka Connect's own dead letters: the original record, with `__connect.errors.*` headers."""

from __future__ import annotations

from engine.dialects.facts import DeadLetterFacts, Origin
from engine.dialects.header_facts import MAX_PARTITION, HeaderDialect, HeaderFacts
from engine.record.record import RawRecord
from engine.record.stage import Stage, StageType

PREFIX = "__connect.errors."


def read(message: RawRecord) -> DeadLetterFacts | None:
    """Return the facts in the headers, or None without an exception class and a topic.

    Numbers are UTF-8 text (Kafka's `DeadLetterQueueReporter`). Stack trace and message may be missing. The reporter
    copies the timestamp of the record. It never replaces a header, so an earlier failure's headers stay.
    """
    facts = HeaderFacts(message.headers)
    topic = facts.text("origin topic", PREFIX + "topic")
    if not topic and not facts.has(PREFIX + "exception.class.name"):
        return None
    partition = facts.decimal("origin partition", PREFIX + "partition", most=MAX_PARTITION)
    offset = facts.decimal("origin offset", PREFIX + "offset")
    connector = facts.text("connector", PREFIX + "connector.name")
    task = facts.text("task", PREFIX + "task.id")
    stage = facts.text("stage", PREFIX + "stage")
    class_name = facts.text("class of the stage", PREFIX + "class.name")
    failure = facts.failure(
        raised=PREFIX + "exception.class.name",
        message=PREFIX + "exception.message",
        trace=PREFIX + "exception.stacktrace",
    )
    return DeadLetterFacts(
        dialect=DIALECT.name,
        stage=stage or "UNKNOWN",
        root_class=failure.root_class,
        root_message=failure.root_message,
        origin=Origin(topic, partition, offset, facts.copied_timestamp(message)) if topic else None,
        connector=connector,
        task_id=f"{connector}-{task}" if task else "",
        trace=failure.trace,
        copies_timestamp=True,
        stages=_stages(stage, class_name),
        index=0 if stage in StageType.__members__ else None,
        key=message.key,
        value=message.value,
        complete=True,
        own_value=True,
        notes=facts.notes,
        problems=facts.problems,
    )


def _stages(stage: str, class_name: str) -> tuple[Stage, ...]:
    """Return the failing stage; the headers do not contain the other stages."""
    return (Stage(StageType(stage), class_name),) if stage in StageType.__members__ else ()


DIALECT = HeaderDialect(
    name="connect-headers",
    title="Kafka Connect",
    read=read,
    markers=frozenset({PREFIX + "topic", PREFIX + "exception.class.name"}),
    prefixes=(PREFIX,),
)
