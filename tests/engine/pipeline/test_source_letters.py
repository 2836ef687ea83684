"""Dead letters of a source that can't be written: it is polled again later, and goes on counting."""

from __future__ import annotations

from engine.pipeline.commit import flush_letters
from engine.pipeline.outcome import FailedAttempts, Interrupted
from engine.policy.retry import RetryPolicy
from tests.engine.pipeline.rig import letter_reporter
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
    letters = letter_reporter(producer, rig.state, clock, retry=RetryPolicy(-1), patience_ms=lambda _: 50)
    rig.task.guard.dead_letters = letters
    return rig


def test_failures_with_dead_letters_are_remembered_and_no_offset_is() -> None:
    store, clock, producer = OffsetStore(), Clock(), Producer()
    producer.fail_next, producer.retriable = [{0}, {0}], True
    began = clock.now_ms()
    for failures, wait_ms in ((1, 300), (2, 600)):
        rig = lease(store, clock, producer)
        assert rig.run() == Interrupted(clock.now_ms() + wait_ms)
        assert (store.kept, rig.state.unwritten) == ({}, FailedAttempts(failures, began))
        clock.time_ms += wait_ms
    rig = lease(store, clock, producer)
    assert rig.run() is None
    assert (rig.position(), len(producer.records), rig.state.unwritten) == (4, 1, FailedAttempts())
    assert [rig.count(name) for name in ("records-consumed", "deadletterqueue-produce-failures", "total-retries")] == [
        4, 0, 2,
    ]  # fmt: skip
