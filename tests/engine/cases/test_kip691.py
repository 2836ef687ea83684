"""KIP-691 as Kafka's own tests assert it, case by case; where the KIP differs from shipped Kafka, the row says so.

What needs a real client is in tests/broker/test_transactions.py.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from confluent_kafka import KafkaError

import tests.broker
from engine.errors import (
    AbortableError,
    CommitFailed,
    EngineError,
    FailureType,
    FatalError,
    Fenced,
    ProduceFailed,
    RetriableError,
)
from engine.exactly_once.transaction import Transaction
from engine.kafka.errors import failure_type, transactional_class
from engine.ports import Committed
from engine.record.record import TopicPartition
from tests.engine.cases.kip691 import CASES, NOT_PORTED
from tests.fakes import Clock
from tests.support.fake_kafka import FakeKafka, FakeTransactional, Fault

T0 = TopicPartition("t", 0)

# The error of a transactional call, and our class for it. The last words are the KIP's where shipped Kafka differs.
CALLS: list[tuple[str, str, type[EngineError], str]] = [
    ("T-08, TransactionManagerTest#testAddPartitionToTransactionRetainsRetryBackoffForRegularRetriableError",
     "COORDINATOR_NOT_AVAILABLE", RetriableError, ""),
    ("T-09, TransactionManagerTest#testAddPartitionToTransactionRetainsRetryBackoffWhenPartitionsAlreadyAdded",
     "CONCURRENT_TRANSACTIONS", RetriableError, ""),
    ("T-10, TransactionManagerTest#testUnsupportedForMessageFormatInTxnOffsetCommit",
     "UNSUPPORTED_FOR_MESSAGE_FORMAT", FatalError, ""),
    ("T-11, TransactionManagerTest#testFencedInstanceIdInTxnOffsetCommitByGroupMetadata",
     "FENCED_INSTANCE_ID", Fenced, "should be fatal, since it is a fenced situation"),
    ("T-12, TransactionManagerTest#testUnknownMemberIdInTxnOffsetCommitByGroupMetadata",
     "UNKNOWN_MEMBER_ID", FatalError, "should be fatal"),
    ("T-14, TransactionManagerTest#testGroupMetadataMismatchErrorInTxnOffsetCommit",
     "STALE_MEMBER_EPOCH", FatalError, "should be fatal, as CommitFailed of this call is"),
    ("T-15, TransactionManagerTest#testTransactionalIdAuthorizationFailureInFindCoordinator",
     "TRANSACTIONAL_ID_AUTHORIZATION_FAILED", FatalError, ""),
    ("T-16, TransactionManagerTest#testTransactionalIdAuthorizationFailureInInitProducerId",
     "TRANSACTIONAL_ID_AUTHORIZATION_FAILED", FatalError, "fatal from every call"),
    ("T-17, TransactionManagerTest#testTransactionalIdAuthorizationFailureInAddPartitions",
     "TRANSACTIONAL_ID_AUTHORIZATION_FAILED", FatalError, ""),
    ("T-18, TransactionManagerTest#testTransactionalIdAuthorizationFailureInAddOffsetsToTxn",
     "TRANSACTIONAL_ID_AUTHORIZATION_FAILED", FatalError, ""),
    ("T-19, TransactionManagerTest#testTransactionalIdAuthorizationFailureInTxnOffsetCommit",
     "TRANSACTIONAL_ID_AUTHORIZATION_FAILED", FatalError, ""),
    ("T-24, TransactionManagerTest#testFatalErrorWhenProduceResponseWithInvalidPidMapping",
     "INVALID_PRODUCER_ID_MAPPING", AbortableError, "abortable: the position check behind it finds who doubled"),
    ("T-25, TransactionManagerTest#testTopicAuthorizationFailureInAddPartitions",
     "TOPIC_AUTHORIZATION_FAILED", FatalError, "should be fatal"),
    ("T-35, TransactionManagerTest#testInvalidProducerEpochConvertToProducerFencedInInitProducerId",
     "INVALID_PRODUCER_EPOCH", Fenced, ""),
    ("T-36, TransactionManagerTest#testInvalidProducerEpochConvertToProducerFencedInAddPartitionToTxn",
     "INVALID_PRODUCER_EPOCH", Fenced, ""),
    ("T-37, TransactionManagerTest#testInvalidProducerEpochConvertToProducerFencedInAddOffSetsToTxn",
     "INVALID_PRODUCER_EPOCH", Fenced, ""),
    ("T-38, TransactionManagerTest#testInvalidProducerEpochConvertToProducerFencedInEndTxn",
     "INVALID_PRODUCER_EPOCH", Fenced, ""),
    ("T-47, TransactionManagerTest#testHandlingOfCoordinatorLoadingErrorOnTxnOffsetCommit",
     "COORDINATOR_LOAD_IN_PROGRESS", RetriableError, ""),
    ("T-48, TransactionManagerTest#testHandlingOfUnknownTopicPartitionErrorOnTxnOffsetCommit",
     "UNKNOWN_TOPIC_OR_PART", RetriableError, ""),
    ("T-49, TransactionManagerTest#testHandlingOfProducerFencedErrorOnTxnOffsetCommit",
     "PRODUCER_FENCED", Fenced, ""),
    ("T-52, TransactionManagerTest#shouldFailAbortIfAddOffsetsFailsWithFatalError",
     "UNKNOWN", FatalError, ""),
    ("T-70, TransactionManagerTest#testTransactionAbortableExceptionInInitProducerId",
     "TRANSACTION_ABORTABLE", AbortableError, ""),
    ("T-71, TransactionManagerTest#testTransactionAbortableExceptionInAddPartitions",
     "TRANSACTION_ABORTABLE", AbortableError, ""),
    ("T-72, TransactionManagerTest#testTransactionAbortableExceptionInFindCoordinator",
     "TRANSACTION_ABORTABLE", AbortableError, ""),
    ("T-73, TransactionManagerTest#testTransactionAbortableExceptionInAddOffsetsToTxn",
     "TRANSACTION_ABORTABLE", AbortableError, ""),
    ("T-78, SenderTest#testInvalidTxnStateIsAnAbortableError",
     "INVALID_TXN_STATE", FatalError, "fatal"),
    ("T-90, KafkaProducerTest#testClusterAuthorizationFailure",
     "CLUSTER_AUTHORIZATION_FAILED", FatalError, "fatal"),
]  # fmt: skip

# A failed delivery, and whose fault it is.
DELIVERIES: list[tuple[str, str, FailureType]] = [
    ("T-39, TransactionManagerTest#testInvalidProducerEpochFromProduce",
     "INVALID_PRODUCER_EPOCH", FailureType.TRANSACTION_FAILED),
    ("T-79, SenderTest#testTransactionAbortableExceptionIsAnAbortableError",
     "TRANSACTION_ABORTABLE", FailureType.TRANSACTION_FAILED),
    ("T-81, SenderTest#testTransactionAbortedExceptionOnAbortWithoutError",
     "_PURGE_QUEUE", FailureType.TRANSACTION_FAILED),
]  # fmt: skip


class Rig:
    """A transaction over the broker in memory, and the requests that reached it."""

    def __init__(self, client: type[FakeTransactional] = FakeTransactional) -> None:
        self.kafka = FakeKafka(Clock(), max_message_bytes=5)
        self.asked: list[str] = []
        self.fault: dict[str, Fault] = {}  # request → of the next such request
        self.kafka.faults = self._note
        self.client = client
        self.transaction = Transaction(lambda: self.client(self.kafka, "id"), lambda: None, self.kafka.clock)
        self.transaction.open()
        self.asked.clear()

    def _note(self, call: str) -> Fault | None:
        self.asked.append(call)
        return self.fault.pop(call, None)

    def write(self, *values: bytes) -> None:
        for value in values:
            self.transaction.produce("t", None, value)

    @property
    def seen(self) -> list[bytes | None]:
        return [one.value for one in self.kafka.read("t")]


@pytest.mark.parametrize(("case", "code", "kind", "kip"), CALLS, ids=[row[0] for row in CALLS])
def test_an_error_of_a_transactional_call_has_the_class_of_the_kip(
    case: str, code: str, kind: type[EngineError], kip: str
) -> None:
    error = KafkaError(getattr(KafkaError, code), "reason", False, kind is RetriableError, kind is AbortableError)
    assert transactional_class(error) is kind
    if kip:  # whatever the client would do
        assert transactional_class(KafkaError(getattr(KafkaError, code), "reason", False, False, True)) is kind


@pytest.mark.parametrize(("case", "code", "kind"), DELIVERIES, ids=[row[0] for row in DELIVERIES])
def test_a_failed_delivery_of_a_transaction_is_its_own_fault(case: str, code: str, kind: FailureType) -> None:
    assert failure_type(KafkaError(getattr(KafkaError, code))) is kind


def test_an_abortable_error_leaves_the_transaction_open_until_it_is_aborted() -> None:
    """T-04, TransactionManagerTest#testHasOngoingTransactionAbortableError."""
    rig = Rig()
    rig.write(b"too large")
    with pytest.raises(ProduceFailed):
        rig.transaction.flush()
    opened = rig.transaction.is_open
    rig.transaction.abort()
    assert (opened, rig.transaction.is_open) == (True, False)


def test_after_a_fatal_error_there_is_nothing_left_but_to_close() -> None:
    """T-05, TransactionManagerTest#testHasOngoingTransactionFatalError: here it is over when it was closed."""
    rig = Rig()
    rig.write(b"1")
    rig.kafka.transactional("id").init()
    with pytest.raises(Fenced):
        rig.transaction.flush()
    rig.transaction.close()
    assert not rig.transaction.is_open


def test_a_lost_answer_to_init_may_be_asked_for_again() -> None:
    """T-31, TransactionManagerTest#testRetryInitTransactionsAfterTimeout;
    T-88, KafkaProducerTest#testInitTransactionsResponseAfterTimeout;
    T-106, StreamsProducerTest#shouldThrowTimeoutExceptionOnEosInitTxTimeout."""
    for fault in (Fault.BEFORE, Fault.AFTER, Fault.LATE):
        rig = Rig()
        rig.fault["init"] = fault
        with pytest.raises(RetriableError):
            rig.transaction.open()
        rig.transaction.open()
        rig.write(b"1")
        rig.transaction.commit({})
        assert rig.seen == [b"1"]


def test_a_transaction_that_lost_a_record_is_never_committed() -> None:
    """T-40, TransactionManagerTest#testDisallowCommitOnProduceFailure;
    T-41, TransactionManagerTest#testAllowAbortOnProduceFailure."""
    rig = Rig()
    client = rig.kafka.transactional("id")
    client.init()
    client.begin()
    client.produce("t", None, b"1")
    client.produce("t", None, b"too large")
    with pytest.raises(AbortableError):
        client.flush()
    rig.asked.clear()
    with pytest.raises(CommitFailed):
        client.commit()
    assert rig.asked == []
    client.abort()
    assert (rig.asked, rig.seen) == (["end"], [])


def test_an_error_of_the_abort_changes_nothing() -> None:
    """T-42, TransactionManagerTest#testAbortableErrorWhileAbortInProgress;
    T-110, StreamsProducerTest#shouldSwallowExceptionOnEosAbortTxProducerFenced;
    T-111, StreamsProducerTest#shouldThrowStreamsExceptionOnEosAbortTxError: here it is swallowed as well, since there
    is nothing left that could be committed."""
    for error in (AbortableError("late"), Fenced("late"), FatalError("late")):

        class Reluctant(FakeTransactional):
            def abort(self, error: EngineError = error) -> None:
                raise error

        rig = Rig(Reluctant)
        rig.write(b"1")
        rig.transaction.abort()
        rig.write(b"2")
        rig.transaction.commit({})
        assert rig.seen == [b"2"]


def test_a_commit_sends_what_was_not_sent_yet_and_waits_for_it() -> None:
    """T-43, TransactionManagerTest#testCommitTransactionWithUnsentProduceRequest;
    T-44, TransactionManagerTest#testCommitTransactionWithInFlightProduceRequest;
    T-85, SenderTest#testAwaitPendingRecordsBeforeCommittingTransaction."""
    rig = Rig()
    rig.write(b"1")
    rig.transaction.flush()
    rig.write(b"2")
    rig.transaction.commit({T0: Committed(1)}, "g")
    assert (rig.asked, rig.seen) == (["produce", "produce", "send_offsets", "end"], [b"1", b"2"])


def test_an_abort_of_what_was_never_sent_asks_nobody() -> None:
    """T-45, TransactionManagerTest#testCancelUnsentAddPartitionsAndProduceOnAbort;
    T-112, StreamsProducerTest#shouldSkipAbortTxOnEosAbortIfNotTxInFlight."""
    rig = Rig()
    rig.transaction.abort()
    rig.write(b"1")
    rig.transaction.abort()
    assert rig.asked == []
    rig.write(b"2")
    rig.transaction.commit({})
    assert rig.seen == [b"2"]


def test_a_batch_that_was_given_up_is_not_committed_and_may_be_written_again() -> None:
    """T-55, TransactionManagerTest#testDropCommitOnBatchExpiry."""
    rig = Rig()
    rig.write(b"1")
    rig.fault["produce"] = Fault.AFTER
    with pytest.raises(ProduceFailed) as raised:
        rig.transaction.flush()
    assert (raised.value.type, rig.transaction.is_open) == (FailureType.DELIVERY_FAILED, True)
    rig.write(b"1")
    rig.transaction.commit({})
    assert rig.seen == [b"1"]


def test_an_abort_before_anything_else_does_no_harm() -> None:
    """T-69, TransactionManagerTest#testForegroundInvalidStateTransitionIsRecoverable."""
    kafka = FakeKafka()
    transaction = Transaction(lambda: kafka.transactional("id"), lambda: None, kafka.clock)
    transaction.abort()
    transaction.open()
    transaction.produce("t", None, b"1")
    transaction.commit({})
    assert [one.value for one in kafka.read("t")] == [b"1"]


def test_what_the_client_has_retried_long_enough_aborts_the_transaction() -> None:
    """T-77, SenderTest#testTransactionShouldTransitionToAbortableForSenderAPI."""
    error = KafkaError(KafkaError.COORDINATOR_LOAD_IN_PROGRESS, "reason", False, True, True)
    assert transactional_class(error) is AbortableError


def test_an_abort_that_is_to_be_aborted_ends_with_a_new_client() -> None:
    """T-80, SenderTest#testAbortableErrorIsConvertedToFatalErrorDuringAbort: there is no endless loop here either."""

    class Reluctant(FakeTransactional):
        commits = 0

        def commit(self) -> None:
            Reluctant.commits += 1
            raise CommitFailed("abort it")

        def abort(self) -> None:
            raise AbortableError("abort it")

    rig = Rig(Reluctant)
    rig.write(b"1")
    with pytest.raises(RetriableError, match="aborted 3 times"):
        rig.transaction.commit({})
    rig.client = FakeTransactional
    rig.transaction.commit({})
    assert (rig.seen, Reluctant.commits) == ([b"1"], 3)


def test_closing_ends_an_open_transaction() -> None:
    """T-83, SenderTest#testIncompleteTransactionAbortOnShutdown."""
    rig = Rig()
    rig.write(b"1")
    rig.transaction.flush()
    rig.transaction.close()
    assert (rig.asked[-1], rig.kafka.end_offset(T0), rig.seen) == ("end", 2, [])


def test_a_transaction_right_behind_another_waits_for_its_end() -> None:
    """T-96, KafkaProducerTest#testTransactionV2ProduceWithConcurrentTransactionError."""
    rig = Rig()
    rig.kafka.slow_markers = True
    for value in (b"1", b"2"):
        rig.write(value)
        rig.transaction.commit({T0: Committed(1)}, "g")
    rig.kafka.settle()
    assert rig.seen == [b"1", b"2"]


def test_the_world_is_at_fault_where_the_client_would_retry() -> None:
    """T-102, TransactionExceptionHierarchyTest#testRetriableExceptionHierarchy: a corrupt record is the record's."""
    names = (
        "REQUEST_TIMED_OUT NOT_ENOUGH_REPLICAS COORDINATOR_LOAD_IN_PROGRESS NOT_ENOUGH_REPLICAS_AFTER_APPEND"
        " CONCURRENT_TRANSACTIONS"
    )
    kinds = {transactional_class(KafkaError(getattr(KafkaError, name))) for name in names.split()}
    assert kinds == {RetriableError}
    assert failure_type(KafkaError(KafkaError.INVALID_MSG)) is FailureType.MESSAGE_REJECTED


def test_what_the_configuration_is_to_blame_for_is_fatal() -> None:
    """T-105, TransactionExceptionHierarchyTest#testInvalidConfigurationExceptionHierarchy: invalid records and topics,
    too large batches and required acks are abortable in the KIP."""
    fatal = (
        "SASL_AUTHENTICATION_FAILED CLUSTER_AUTHORIZATION_FAILED TRANSACTIONAL_ID_AUTHORIZATION_FAILED"
        " TOPIC_AUTHORIZATION_FAILED GROUP_AUTHORIZATION_FAILED UNSUPPORTED_VERSION UNSUPPORTED_FOR_MESSAGE_FORMAT"
        " INVALID_REPLICATION_FACTOR"
    )
    abortable = "INVALID_RECORD INVALID_REQUIRED_ACKS RECORD_LIST_TOO_LARGE TOPIC_EXCEPTION"
    for names, kind in ((fatal, FatalError), (abortable, AbortableError)):
        assert {transactional_class(KafkaError(getattr(KafkaError, name))) for name in names.split()} == {kind}


def test_a_task_that_was_taken_over_is_told_so_by_its_commit() -> None:
    """T-109, StreamsProducerTest#shouldThrowTaskMigratedExceptionOnEosCommitWithProducerFenced."""
    rig = Rig()
    rig.write(b"1")
    rig.transaction.flush()
    rig.kafka.transactional("id").init()
    with pytest.raises(Fenced):
        rig.transaction.commit({})
    assert rig.seen == []


def test_every_case_is_ported_or_says_why_not() -> None:
    places = [Path(__file__), Path(next(iter(tests.broker.__path__)), "test_transactions.py")]
    found = re.finditer(r"\b(T-\d+), (\w+#\w+)", "".join(path.read_text() for path in places))
    ported = {match[1]: match[2] for match in found}
    assert ported.keys() | NOT_PORTED.keys() == CASES.keys()
    assert ported.keys() & NOT_PORTED.keys() == set()
    assert {name: CASES[name] for name in ported} == ported
