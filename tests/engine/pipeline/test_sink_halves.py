"""Looking for the record that a sink rejects and does not name, while the world is in trouble, too."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from engine.errors import Aborted, ProduceFailed, RetriableError
from engine.pipeline.outcome import Interrupted
from engine.policy.retry import RetryPolicy
from engine.record.record import Record
from tests.engine.pipeline.rig import Rig, rows
from tests.fakes import Sink


def rejecting_three(away: Callable[[Sequence[object]], bool]) -> Callable[[Sequence[Record]], None]:
    """Rejects whatever 3 is in; and finds nobody when `away` says so of the values."""

    def trouble(records: Sequence[Record]) -> None:
        values = [record.value for record in records]
        if away(values):
            raise RetriableError("no answer")
        if 3 in values:
            raise ProduceFailed((("t", "too large"),))

    return trouble


@pytest.mark.parametrize("part", [[1], [1, 2], [3], [2]])
def test_a_part_that_finds_nobody_is_put_again_and_only_the_guilty_record_is_dead_lettered(part: list[int]) -> None:
    left = [part, part]

    def away(values: Sequence[object]) -> bool:
        return bool(left) and left[0] == values and bool(left.pop())

    sink = Sink(rejecting_three(away), put_is_idempotent=True)
    rig = Rig(rows(b"1", b"2", b"3", b"4"), sink=sink, retry=RetryPolicy(5))
    assert rig.run() is None
    assert (rig.sink.delivered, rig.reporter.offsets, rig.committed()) == ([1, 2, 4], [2], 4)


def test_a_part_that_must_wait_long_parks_the_task_behind_what_is_written() -> None:
    sink = Sink(rejecting_three(lambda values: values == [2]), put_is_idempotent=True)
    rig = Rig(rows(b"1", b"2", b"3"), sink=sink, retry=RetryPolicy(-1), patience_ms=50)
    assert isinstance(rig.run(), Interrupted)
    assert (rig.sink.delivered, rig.reporter.offsets, rig.committed()) == ([1], [], 1)


def test_a_half_whose_transaction_came_to_nothing_ends_the_search_and_nobody_is_dead_lettered() -> None:
    def trouble(records: Sequence[Record]) -> None:
        raise ProduceFailed((("t", "too large"),)) if len(records) > 2 else Aborted("no broker")

    rig = Rig(rows(b"1", b"2", b"3", b"4"), sink=Sink(trouble, put_is_idempotent=True), retry=RetryPolicy(5))
    with pytest.raises(Aborted):
        rig.task.step(0)
    assert (rig.sink.puts, rig.reporter.offsets, rig.consumer.group) == ([4, 2], [], {})


def test_a_guilty_record_is_told_with_the_frames_of_the_put_that_was_given_up() -> None:
    sink = Sink(rejecting_three(lambda values: values == [2]), put_is_idempotent=True)
    rig = Rig(rows(b"1", b"2", b"3"), sink=sink, retry=RetryPolicy(1))
    assert rig.run() is None
    assert (rig.sink.delivered, rig.reporter.offsets) == ([1], [1, 2])
    assert [":trouble:" in context.exception for context, _ in rig.reporter.reports] == [True, True]
