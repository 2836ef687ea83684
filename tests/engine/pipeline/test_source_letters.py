"""Dead letters of a source that can't be written: it is polled again later, and goes on counting."""

from __future__ import annotations

from engine.pipeline.commit import flush_letters
from engine.pipeline.outcome import Interrupted, Trouble
from engine.policy.retry import RetryPolicy
from engine.reporting.deadletter import DeadLetterReporter
from tests.engine.pipeline.source_rig import SourceRig
from tests.fakes import Clock, OffsetStore, Producer, Source


def broken(value: int) -> int:
    if value == 2:
        raise ValueError("no 2")
    return value


def lease(store: OffsetStore, clock: Clock, producer: Producer) -> SourceRig:
    def flush() -> Interrupted | None:
        return flush_letters(letters, rig.state)

    rig = SourceRig(Source(4), transform=broken, store=store, clock=clock, flush_dead_letters=flush)
    letters = DeadLetterReporter(
        producer=producer, topic="dlq", include_configs=False, include_messages=False, context_headers=False,
        max_bytes=1_000_000, metrics=rig.state.metrics, retry=RetryPolicy(-1), clock=clock, jitter=lambda: 1.0,
        patience_ms=lambda _: 50, failures=rig.state.unwritten.failures, first_ms=rig.state.unwritten.first_ms,
    )  # fmt: skip
    rig.task.guard.dead_letters = letters
    return rig


def test_failures_with_dead_letters_are_remembered_and_no_offset_is() -> None:
    store, clock, producer = OffsetStore(), Clock(), Producer()
    producer.fail_next, producer.retriable = [{0}, {0}], True
    began = clock.now_ms()
    for failures, wait_ms in ((1, 300), (2, 600)):
        rig = lease(store, clock, producer)
        assert rig.run() == Interrupted(clock.now_ms() + wait_ms)
        assert (store.kept, rig.state.unwritten) == ({}, Trouble(failures, began))
        clock.time_ms += wait_ms
    rig = lease(store, clock, producer)
    assert rig.run() is None
    assert (rig.position(), len(producer.records), rig.state.unwritten) == (4, 1, Trouble())
    assert [rig.count(name) for name in ("records-consumed", "deadletterqueue-produce-failures", "total-retries")] == [
        4, 2, 2,
    ]  # fmt: skip
