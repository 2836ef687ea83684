"""Kafka Connect's own dead letters: the original record, with `__connect.errors.*` headers."""

from __future__ import annotations

from dlqadmin.deadletters.dialects.facts import DeadLetterFacts, Origin, first, number, text
from dlqadmin.deadletters.dialects.stack_traces import parse
from engine.record.record import RawRecord
from engine.record.stage import Stage, StageType

PREFIX = "__connect.errors."


def read(message: RawRecord) -> DeadLetterFacts | None:
    """Return the facts in the headers, or None without an exception class and a topic.

    Numbers are UTF-8 text (Kafka's `DeadLetterQueueReporter`). Stack trace and message may be missing.
    """
    headers = message.headers
    topic, raised = first(headers, PREFIX + "topic"), first(headers, PREFIX + "exception.class.name")
    if topic is None and raised is None:
        return None
    trace = text(first(headers, PREFIX + "exception.stacktrace"))
    chain = parse(trace)
    root_class, root_message = text(raised) or "UnknownException", text(first(headers, PREFIX + "exception.message"))
    # The headers name only the outermost exception. The root cause is in the stack trace.
    if len(chain) > 1:
        root_class, root_message = chain[-1].class_name, chain[-1].message
    stage = text(first(headers, PREFIX + "stage"))
    connector = text(first(headers, PREFIX + "connector.name"))
    task = text(first(headers, PREFIX + "task.id"))
    problems = tuple(
        f"{PREFIX}{name} is not a number"
        for name in ("partition", "offset")
        if first(headers, PREFIX + name) is not None and number(first(headers, PREFIX + name)) is None
    )
    return DeadLetterFacts(
        dialect="connect-headers",
        stage=stage or "UNKNOWN",
        root_class=root_class,
        root_message=root_message,
        origin=Origin(
            text(topic),
            number(first(headers, PREFIX + "partition")),
            number(first(headers, PREFIX + "offset")),
        ),
        connector=connector,
        task_id=f"{connector}-{task}" if task else "",
        trace=trace,
        stages=_stages(stage, text(first(headers, PREFIX + "class.name"))),
        index=0 if stage in StageType.__members__ else None,
        key=message.key,
        value=message.value,
        complete=True,
        own_value=True,
        notes=tuple((name.removeprefix(PREFIX), f"header {name}") for name, _ in headers if name.startswith(PREFIX)),
        problems=problems,
    )


def _stages(stage: str, class_name: str) -> tuple[Stage, ...]:
    """Return the failing stage; the headers do not contain the other stages."""
    return (Stage(StageType(stage), class_name),) if stage in StageType.__members__ else ()
