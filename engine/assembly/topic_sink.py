"""The task of a KafkaSink, made from its plan: in one transaction with the offsets, unless it is at least once."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from engine.assembly.clients import (
    Opening,
    flush_outcomes,
    open_consumer,
    open_group,
    open_producer,
    open_replay_reporter,
)
from engine.assembly.letters import open_dead_letters
from engine.assembly.sink import Claimed, reading_steps, sink_task
from engine.assembly.targets import kept_topics
from engine.config.topic_sink import read_topic_sink, refusal
from engine.errors import Aborted, ProduceFailed
from engine.kafka.sinks.topic import KafkaSink
from engine.leases import Delivery
from engine.pipeline.chain import Steps, Transform
from engine.pipeline.claim import claim_positions
from engine.pipeline.commit import (
    DurableThenCommit,
    GroupStore,
    TransactionalCommit,
    flush_letters,
)
from engine.pipeline.open_task import OpenTask
from engine.pipeline.source_steps import source_steps
from engine.ports import Producer
from engine.steps.registry import build_converter


def open_topic_sink(opening: Opening) -> OpenTask:
    """Claim the task's partitions and open its producer."""
    plan = opening.plan
    consumer = open_consumer(opening)
    if plan.delivery is not Delivery.EXACTLY_ONCE:
        positions, state = claim_positions(opening.task, plan.stages, consumer, GroupStore(consumer))
        letters, replayed = open_dead_letters(opening, state), open_replay_reporter(opening)
        sink = _sink(opening, open_producer(opening))

        def flush() -> None:
            try:
                sink.flush()
            except ProduceFailed as failed:  # whose fault it is, is found in small steps
                raise Aborted(f"records were not written: {failed}") from failed

        plain = DurableThenCommit(
            flush, lambda: flush_letters(letters, state), lambda: flush_outcomes(replayed), consumer
        )
        claimed = Claimed(consumer, positions, state, letters, replayed)
        return sink_task(opening, claimed, sink, plain, copying_steps(opening), commits_aside=True)
    group = f"connect-{opening.task.connector}"
    transaction, store = open_group(opening, consumer, keeps=opening.careful)
    positions, state = claim_positions(opening.task, plan.stages, consumer, store)
    letters, replayed = open_dead_letters(opening, state, transaction), open_replay_reporter(opening, transaction)
    commit = TransactionalCommit(
        transaction, lambda: flush_letters(letters, state), lambda: flush_outcomes(replayed), group
    )
    claimed = Claimed(consumer, positions, state, letters, replayed)
    return sink_task(opening, claimed, _sink(opening, transaction), commit, copying_steps(opening), commits_aside=True)


def _sink(opening: Opening, producer: Producer) -> KafkaSink:
    own = read_topic_sink(opening.plan.config)
    return KafkaSink(
        producer, own.topic, _refusal(opening), keeps_partition=own.keeps_partition, flushes=opening.careful
    )


def _refusal(opening: Opening) -> Callable[[str], str | None]:
    """Why a topic that a transform thought of is not to be written."""
    kept = kept_topics(opening.worker)

    def why(topic: str) -> str | None:
        if topic in kept:
            return f"{topic} is the worker's {kept[topic]}: nothing else may be written there"
        return refusal(opening.plan.config, topic)

    return why


def copying_steps(opening: Opening, transforms: Sequence[Transform] | None = None) -> Steps:
    """Converters that read, transforms, converters that write; `transforms` where they are made already."""
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
