"""KIP-618 in source tasks, as Kafka's own tests assert it; where we differ from shipped Kafka, the test says so."""

from __future__ import annotations

from typing import Any

import pytest

from engine.errors import ProduceFailed, RetriableError, TaskError
from engine.pipeline.source_transactions import TransactionContext
from engine.policy.retry import RetryPolicy
from tests.engine.pipeline.exactly_once_rig import OFFSETS, Lease, Scripted, World, attempt, emit, own
from tests.fakes import Source, source_record
from tests.support.fake_kafka import Fault


def commits(*numbers: int) -> Any:
    """A poll of these, after which the transaction is to be committed."""

    def line(source: Scripted) -> tuple[int, ...]:
        source.transactions.commit_transaction()
        return numbers

    return line


def aborts(*numbers: int, on: int | None = None) -> Any:
    """A poll of these, after which, or after `on`, the transaction is to be aborted."""

    def line(source: Scripted) -> tuple[int, ...]:
        source.transactions.abort_transaction(None if on is None else source.record(on))
        return numbers

    return line


def called(world: World) -> tuple[int, int, int]:
    """How many transactions were begun, aborted and committed."""
    return world.calls.get("begin", 0), world.calls.get("abort", 0), world.calls.get("commit", 0)


def test_an_id_that_can_not_be_taken_over_starts_no_source() -> None:
    """E-04, ExactlyOnceWorkerSourceTaskTest#testFailureInProducerInitialization. The brokers' fault parks the task."""
    world = World()
    world.kafka.faults = lambda call: Fault.BEFORE if call == "init" else None
    source = Scripted(emit(0))
    assert isinstance(attempt(lambda: Lease(world, source)), RetriableError)
    assert (len(source.script), world.emitted()) == (1, [])


def test_every_poll_is_a_transaction() -> None:
    """E-07, ExactlyOnceWorkerSourceTaskTest#testPollsInBackground;
    E-12, ExactlyOnceWorkerSourceTaskTest#testPollBasedCommit: without Kafka's last one at the stop, as it would be
    empty."""
    world = World()
    lease = Lease(world, Source(20, batch=2))
    assert lease.run() is None
    assert called(world) == (10, 0, 10)
    figures = lease.task.figures().metrics
    assert [figures[f"transaction-size-{name}"] for name in ("min", "max", "avg")] == [2, 2, 2]


def test_polls_that_find_nothing_are_no_transactions_but_told_to_the_source() -> None:
    """E-11, ExactlyOnceWorkerSourceTaskTest#testPollReturnsNoRecords."""
    world = World()
    lease = Lease(world, Scripted())
    for _ in range(10):
        assert lease.task.step(0) is None
    lease.task.save()
    assert (lease.source.commits, called(world)) == (11, (0, 0, 0))


def test_an_aborted_batch_is_passed() -> None:
    """E-16, ExactlyOnceWorkerSourceTaskTest#testConnectorAbortOnBatch. The third one is begun by what comes later."""
    world = World()
    lease = Lease(world, Scripted(emit(0, 1), aborts(2, 3), emit(4, 5)), boundary=own)
    for _ in range(3):
        lease.task.step(0)
    assert called(world) == (3, 1, 1)
    assert (world.emitted(), world.position()) == ([], 4)
    assert lease.source.confirmed == [0, 1, 2, 3]
    assert lease.task.figures().metrics["transaction-size-max"] == 0


def test_an_abort_on_a_record_leaves_out_what_is_behind_it() -> None:
    """E-17, ExactlyOnceWorkerSourceTaskTest#testConnectorAbortOnRecord."""
    world = World()
    lease = Lease(world, Scripted(emit(0, 1), aborts(2, 3, on=2)), boundary=own)
    for _ in range(2):
        lease.task.step(0)
    assert called(world) == (3, 1, 1)
    assert (world.emitted(), world.position()) == ([], 3)


def test_an_abort_of_nothing_is_nothing() -> None:
    """E-18, ExactlyOnceWorkerSourceTaskTest#testConnectorAbortsEmptyTransaction."""
    world = World()
    lease = Lease(world, Scripted(commits(0, 1), emit(), aborts()), boundary=own)
    for _ in range(3):
        assert lease.task.step(0) is None
    assert called(world) == (1, 0, 1)
    assert world.emitted() == [0, 1]


def test_a_commit_on_the_last_record_wins_over_an_abort_of_the_batch() -> None:
    """E-19, ExactlyOnceWorkerSourceTaskTest#testMixedConnectorTransactionBoundaryCommitLastRecordAbortBatch."""

    def mixed(source: Scripted) -> tuple[int, ...]:
        source.transactions.abort_transaction()
        source.transactions.commit_transaction(source.record(1))
        return 0, 1

    world = World()
    lease = Lease(world, Scripted(mixed), boundary=own)
    lease.task.step(0)
    assert (called(world), lease.source.commits) == ((1, 0, 1), 2)
    assert world.emitted() == [0, 1]


def test_an_abort_on_the_last_record_wins_over_a_commit_of_the_batch() -> None:
    """E-20, ExactlyOnceWorkerSourceTaskTest#testMixedConnectorTransactionBoundaryAbortLastRecordCommitBatch."""

    def mixed(source: Scripted) -> tuple[int, ...]:
        source.transactions.commit_transaction()
        source.transactions.abort_transaction(source.record(1))
        return 0, 1

    world = World()
    lease = Lease(world, Scripted(mixed), boundary=own)
    lease.task.step(0)
    assert called(world) == (2, 1, 1)
    assert (world.emitted(), world.position()) == ([], 2)


def test_offsets_that_are_not_written_park_the_task_with_nothing_committed() -> None:
    """E-22, ExactlyOnceWorkerSourceTaskTest#testCommitFlushAsyncCallbackFailure. Kafka fails the task; what a broker
    may take later is tried again later here."""
    world = World()
    lease = Lease(world, Source(5))
    lease.task.process(lease.source.poll())
    world.kafka.faults = lambda call: Fault.BEFORE if call == "produce" else None
    assert isinstance(attempt(lease.task.save), RetriableError)
    lease.close()
    assert lease.source.confirmed == []
    world.kafka.faults = lambda _: None
    Lease(world, Source(5)).run()
    assert world.emitted() == [0, 1, 2, 3, 4]


def test_offsets_that_the_broker_refuses_fail_the_task() -> None:
    """E-23, ExactlyOnceWorkerSourceTaskTest#testCommitTransactionFailure."""
    world = World()
    lease = Lease(world, Source(5))
    world.kafka.topics[OFFSETS].max_message_bytes = 10
    error = attempt(lease.run)
    assert isinstance(error, ProduceFailed)
    assert not error.retriable
    lease.close()
    assert (lease.source.confirmed, world.emitted()) == ([], [])


def test_a_record_that_can_not_be_sent_now_is_sent_again_in_the_same_transaction() -> None:
    """E-24, ExactlyOnceWorkerSourceTaskTest#testSendRecordsRetries. Here all of the transaction is: it was lost."""
    world = World()
    lease = Lease(world, Source(3), retry=RetryPolicy(limit=1))
    left = [Fault.BEFORE]
    world.kafka.faults = lambda call: left.pop() if call == "produce" and left else None
    assert lease.task.step(0) is None
    assert (called(world)[2], world.emitted(), world.position()) == (1, [0, 1, 2], 3)


def test_a_task_that_is_not_to_go_on_commits_nothing_and_lets_go() -> None:
    """E-27, ExactlyOnceWorkerSourceTaskTest#testCancel. A lease ends in between two steps; its client is closed."""
    world = World()
    lease = Lease(world, Source(5))
    lease.task.process(lease.source.poll())
    lease.close()
    assert (world.calls["close"], world.emitted()) == (1, [])


def test_a_commit_on_a_record_is_asked_for_once() -> None:
    """E-30, WorkerTransactionContextTest#shouldNotifyOfRecordCommit."""
    context, record = TransactionContext(), source_record(1)
    context.commit_transaction(record)
    assert not context.should_commit_batch()
    assert not context.should_abort_batch()
    assert not context.should_abort_on(record)
    assert not context.should_commit_on(source_record(1))  # an equal one is another one
    assert context.should_commit_on(record)


def test_an_abort_of_the_batch_is_only_that() -> None:
    """E-31, WorkerTransactionContextTest#shouldNotifyOfBatchAbort."""
    context = TransactionContext()
    context.abort_transaction()
    assert not context.should_commit_batch()
    assert not context.should_abort_on(source_record(1))
    assert context.should_abort_batch()


def test_each_request_counts_once() -> None:
    """E-33, WorkerTransactionContextTest#shouldNotCommitBatchRepeatedly."""
    context, record = TransactionContext(), source_record(1)
    context.commit_transaction()
    context.commit_transaction(record)
    assert [context.should_commit_batch(), context.should_commit_batch()] == [True, False]
    assert [context.should_commit_on(record), context.should_commit_on(record)] == [True, False]


@pytest.mark.parametrize("record", [None, source_record(1)], ids=["batch", "record"])
def test_what_is_to_be_committed_and_aborted_stops_the_task(record: Any) -> None:
    """E-35, WorkerTransactionContextTest#shouldDisallowConflictingRequests."""
    context = TransactionContext()
    context.commit_transaction(record)
    context.abort_transaction(record)
    asked = (context.should_commit_batch, context.should_abort_batch)
    if record is not None:
        asked = (lambda: context.should_commit_on(record), lambda: context.should_abort_on(record))
    for ask in asked:
        with pytest.raises(TaskError, match="to commit and to abort the same transaction"):
            ask()
