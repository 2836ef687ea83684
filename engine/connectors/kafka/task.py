"""Open the task of a KafkaSink; it uses transactions unless delivery is at least once."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from engine.connectors.kafka.options import read_topic_sink, refusal
from engine.connectors.kafka.sink import KafkaSink
from engine.errors import Aborted, ProduceFailed
from engine.pipeline.chain import RecordTransform, Steps
from engine.pipeline.claim import claim_positions
from engine.pipeline.commit import DurableThenCommit, GroupStore, TransactionalCommit, flush_letters
from engine.pipeline.opened_task import OpenTask
from engine.pipeline.source_steps import source_steps
from engine.ports import Producer
from engine.steps.registry import build_converter
from engine.tasks.clients import (
    TaskOpening,
    flush_outcomes,
    open_consumer,
    open_group,
    open_producer,
    open_replay_reporter,
)
from engine.tasks.dead_letters import open_dead_letters
from engine.tasks.sink import ClaimedSink, reading_steps, sink_task
from engine.tasks.targets import kept_topics
from engine.worker_messages import Delivery


def open_topic_sink(opening: TaskOpening) -> OpenTask:
    """Claim the task's partitions and open its producer."""
    plan = opening.plan
    consumer = open_consumer(opening)
    if plan.delivery is not Delivery.EXACTLY_ONCE:
        positions, state = claim_positions(opening.task, plan.guarded_stages, consumer, GroupStore(consumer))
        letters, replayed = open_dead_letters(opening, state), open_replay_reporter(opening)
        sink = _sink(opening, open_producer(opening))

        def flush() -> None:
            try:
                sink.flush()
            except ProduceFailed as failed:  # small steps after the restart find the guilty record
                raise Aborted(f"records could not be written: {failed}") from failed

        plain = DurableThenCommit(
            flush, lambda: flush_letters(letters, state), lambda: flush_outcomes(replayed), consumer
        )
        claimed = ClaimedSink(consumer, positions, state, letters, replayed)
        return sink_task(opening, claimed, sink, plain, copying_steps(opening), commits_in_background=True)
    group = f"connect-{opening.task.connector}"
    # The records of a large transaction are read again after an abort. Only small steps keep them, to find the record
    # that the brokers reject.
    transaction, store = open_group(opening, consumer, keeps=opening.careful)
    positions, state = claim_positions(opening.task, plan.guarded_stages, consumer, store)
    letters, replayed = open_dead_letters(opening, state, transaction), open_replay_reporter(opening, transaction)
    commit = TransactionalCommit(
        transaction, lambda: flush_letters(letters, state), lambda: flush_outcomes(replayed), group
    )
    claimed = ClaimedSink(consumer, positions, state, letters, replayed)
    return sink_task(
        opening, claimed, _sink(opening, transaction), commit, copying_steps(opening), commits_in_background=True
    )


def _sink(opening: TaskOpening, producer: Producer) -> KafkaSink:
    own = read_topic_sink(opening.plan.config)
    return KafkaSink(
        producer, own.topic, _refusal(opening), keeps_partition=own.keeps_partition, flushes=opening.careful
    )


def _refusal(opening: TaskOpening) -> Callable[[str], str | None]:
    """Return a check of topics that a transform may set. It returns why a topic must not be written."""
    reserved = kept_topics(opening.worker)

    def why(topic: str) -> str | None:
        if topic in reserved:
            return (
                f"{topic} is the worker's {reserved[topic]}, which connectors must not write to; choose another topic"
            )
        return refusal(opening.plan.config, topic)

    return why


def copying_steps(opening: TaskOpening, transforms: Sequence[RecordTransform] | None = None) -> Steps:
    """Return input converters, transforms and output converters. `transforms` are ready instances to use."""
    config, own = opening.plan.config, read_topic_sink(opening.plan.config)
    reading = reading_steps(opening, transforms=transforms)
    writing = source_steps(
        [],
        build_converter(own.key_converter, is_key=True),
        build_converter(own.value_converter, is_key=False),
        build_converter(config.header_converter, is_key=False),
        reading[-1][0] + 1,
    )
    return (*reading, *writing)
