from __future__ import annotations

import threading

import msgspec
import pytest

from engine.config.topic import (
    Leader,
    TargetState,
    TaskEntry,
    commit_record,
    connector_record,
    leader_record,
    target_record,
    task_record,
)
from engine.errors import OffsetsMissing, RetriableError
from engine.pipeline.claim import ConfigTail, claim_positions, end_of_ownership
from engine.pipeline.commit import GroupStore
from engine.pipeline.outcome import FailedAttempts
from engine.pipeline.task_state import OperationId, ParkedRetry, ReportedError, TaskState
from engine.ports import Committed
from engine.record.record import RawRecord, TopicPartition
from engine.reporting.metrics import Metric
from engine.worker_messages import LeaseEnd, TaskConfig
from tests.engine.pipeline.rig import STAGES
from tests.fakes import Clock, Consumer

P0, P1 = TopicPartition("t", 0), TopicPartition("t", 1)
TASK = TaskConfig("c", 0, 1, {"name": "c"}, (P0, P1))
RECORDS = (
    leader_record(Leader(1, "w", 0)),
    connector_record("c", {"name": "c"}),
    task_record("c", 0, TaskEntry(1, {"name": "c"}, (P0, P1))),
    commit_record("c", 1, 1),
)


def claim(task: TaskConfig, consumer: Consumer) -> tuple[dict[TopicPartition, int], TaskState]:
    return claim_positions(task, STAGES, consumer, GroupStore(consumer))


def config_records(*rows: tuple[bytes, bytes | None]) -> list[RawRecord]:
    return [RawRecord("configs", 0, offset, 0, "CREATE_TIME", *row) for offset, row in enumerate(rows)]


def test_a_partition_that_nobody_committed_begins_at_its_earliest_record_and_is_committed_at_once() -> None:
    consumer = Consumer(begins={P0: 7, P1: 0})
    positions, _ = claim(TASK, consumer)
    assert positions == {P0: 7, P1: 0}
    assert {partition: one.offset for partition, one in consumer.group.items()} == {P0: 7, P1: 0}


def test_a_committed_offset_that_is_gone_is_an_error() -> None:
    consumer = Consumer()
    claim(TASK, consumer)
    del consumer.group[P1]
    with pytest.raises(OffsetsMissing, match="t-1"):
        claim(TASK, consumer)


def test_when_all_are_gone_the_herders_word_tells() -> None:
    known = msgspec.structs.replace(TASK, has_committed=True)
    with pytest.raises(OffsetsMissing):
        claim(known, Consumer())


def test_a_partition_added_by_a_new_generation_begins_anew() -> None:
    consumer = Consumer(begins={P1: 3})
    claim(msgspec.structs.replace(TASK, partitions=(P0,)), consumer)
    positions, _ = claim(msgspec.structs.replace(TASK, generation=2), consumer)
    assert positions == {P0: 0, P1: 3}


def test_the_latest_state_of_the_task_wins_and_foreign_metadata_is_ignored() -> None:
    consumer = Consumer()
    _, state = claim(TASK, consumer)
    state.seq += 1
    state.stage_failures[1] = 5
    consumer.commit({P1: Committed(9, state.to_metadata())})
    consumer.commit({P0: Committed(4, "somebody else's")})
    positions, found = claim(TASK, consumer)
    assert (positions, found.seq, found.stage_failures[1]) == ({P0: 4, P1: 9}, state.seq, 5)


@pytest.mark.parametrize(("offset", "waits"), [(4, True), (5, False)])
def test_a_parked_retry_is_forgotten_when_somebody_moved_the_offset_beyond_its_record(offset: int, waits: bool) -> None:
    consumer = Consumer()
    _, state = claim(TASK, consumer)
    state.parked = ParkedRetry(OperationId("t", 0, 4, 1), FailedAttempts(1, 1000), 2000)
    consumer.commit({P0: Committed(offset, state.to_metadata())})
    _, found = claim(TASK, consumer)
    assert (found.parked is not None, found.metrics[Metric.TOTAL_RETRIES]) == (waits, 0)


def test_marks_go_with_their_partition_to_whichever_task_owns_it() -> None:
    consumer = Consumer()
    two = TaskConfig("c", 1, 1, {"name": "c"}, (P0, P1))
    _, state = claim(two, consumer)
    here, there = ReportedError.of(OperationId("t", 1, 7, 1), "dlq"), ReportedError.of(OperationId("t", 0, 3, 1), "dlq")
    state.reported = (here, there)
    consumer.commit(dict.fromkeys((P0, P1), Committed(3, state.to_metadata())))
    _, found = claim(msgspec.structs.replace(TASK, generation=2, partitions=(P1,)), consumer)
    assert (found.task, found.reported) == (0, (here,))
    _, left = claim(msgspec.structs.replace(two, generation=2, partitions=(P0,)), consumer)
    assert left.reported == (there,)


def test_a_mark_of_a_record_that_is_passed_is_not_taken_over() -> None:
    consumer = Consumer()
    two = TaskConfig("c", 1, 1, {"name": "c"}, (P0, P1))
    _, state = claim(two, consumer)
    state.reported = (ReportedError.of(OperationId("t", 1, 7, 1), "dlq"),)
    consumer.commit({P0: Committed(0, ""), P1: Committed(8, state.to_metadata())})
    assert claim(TASK, consumer)[1].reported == ()


def test_the_tail_reads_to_the_end_and_then_goes_on() -> None:
    consumer = Consumer(config_records(*RECORDS))
    tail = ConfigTail(consumer, "configs", Clock())
    assert end_of_ownership(tail.read_to_end(), TASK, 1) is None
    consumer.append(RawRecord("configs", 0, 4, 0, "CREATE_TIME", *target_record("c", TargetState.PAUSED)))
    assert end_of_ownership(tail.poll(), TASK, 1) is LeaseEnd.STOPPED


def test_the_state_at_the_end_has_what_another_thread_has_just_polled() -> None:
    class Slow(Consumer):
        def poll(self, max_records: int, timeout_s: float) -> list[RawRecord]:
            found = super().poll(max_records, timeout_s)
            if found:
                polled.set()
                assert go_on.wait(60)
            return found

    polled, go_on = threading.Event(), threading.Event()
    tail = ConfigTail(Slow(config_records(*RECORDS)), "configs", Clock())
    other = threading.Thread(target=tail.poll)
    other.start()
    assert polled.wait(60)
    threading.Timer(0.05, go_on.set).start()
    try:
        assert end_of_ownership(tail.read_to_end(), TASK, 1) is None
    finally:
        other.join()


def test_a_newer_generation_or_leader_fences() -> None:
    tail = ConfigTail(Consumer(config_records(*RECORDS)), "configs", Clock())
    state = tail.read_to_end()
    assert end_of_ownership(state, TASK, 2) is LeaseEnd.FENCED
    assert end_of_ownership(state, msgspec.structs.replace(TASK, generation=0), 1) is LeaseEnd.FENCED


def test_a_config_topic_that_can_not_be_read_is_retriable() -> None:
    class Silent(Consumer):
        def poll(self, max_records: int, timeout_s: float) -> list[RawRecord]:
            clock.time_ms += 1000
            return []

    clock = Clock()
    with pytest.raises(RetriableError):
        ConfigTail(Silent(config_records(*RECORDS)), "configs", clock).read_to_end()


def test_positions_beyond_the_end_fail_the_task_in_words_that_help() -> None:
    group = {P0: Committed(1000), P1: Committed(1)}
    consumer = Consumer([RawRecord("t", 1, 0, 0, "CREATE_TIME", b"k", b"v")], group)
    with pytest.raises(
        OffsetsMissing, match=r"beyond the end of t-0 \(committed 1000, end 0\).*offsets of group connect-c"
    ):
        claim(msgspec.structs.replace(TASK, beyond=True), consumer)
    assert group == {P0: Committed(1000), P1: Committed(1)}


def test_a_claim_that_sees_no_position_beyond_the_end_goes_on() -> None:
    consumer = Consumer(group={P0: Committed(0), P1: Committed(0)})
    assert claim(msgspec.structs.replace(TASK, beyond=True), consumer)[0] == {P0: 0, P1: 0}
