"""KIP-691 as Kafka's own tests assert it, case by case; where the KIP differs from shipped Kafka, the row says so.

What needs a real client is in tests/broker/test_transactions.py; what is a claim of a transaction, in ../exactly_once.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from confluent_kafka import KafkaError

from engine.errors import (
    AbortableError,
    CommitFailed,
    EngineError,
    FatalError,
    GenerationFenced,
    ProduceFailed,
    RetriableError,
)
from engine.exactly_once.transaction import Transaction
from engine.kafka.errors import failure_type, transactional_class
from engine.ports import Committed
from engine.record.record import TopicPartition
from tests.fakes import Clock
from tests.support.fake_kafka import FakeKafka, FakeTransactional, Fault

T0 = TopicPartition("t", 0)

# The error of a transactional call, and our class for it. The last words are the KIP's where shipped Kafka differs.
CALLS: list[tuple[str, type[EngineError], str]] = [
    # T-08, TransactionManagerTest#testAddPartitionToTransactionRetainsRetryBackoffForRegularRetriableError
    ("COORDINATOR_NOT_AVAILABLE", RetriableError, ""),
    # T-09, TransactionManagerTest#testAddPartitionToTransactionRetainsRetryBackoffWhenPartitionsAlreadyAdded
    ("CONCURRENT_TRANSACTIONS", RetriableError, ""),
    # T-10, TransactionManagerTest#testUnsupportedForMessageFormatInTxnOffsetCommit
    ("UNSUPPORTED_FOR_MESSAGE_FORMAT", FatalError, ""),
    # T-11, TransactionManagerTest#testFencedInstanceIdInTxnOffsetCommitByGroupMetadata
    ("FENCED_INSTANCE_ID", GenerationFenced, "should be fatal, since it is a fenced situation"),
    # T-12, TransactionManagerTest#testUnknownMemberIdInTxnOffsetCommitByGroupMetadata
    ("UNKNOWN_MEMBER_ID", FatalError, "should be fatal"),
    # T-14, TransactionManagerTest#testGroupMetadataMismatchErrorInTxnOffsetCommit
    ("STALE_MEMBER_EPOCH", FatalError, "should be fatal, as CommitFailed of this call is"),
    # T-15, TransactionManagerTest#testTransactionalIdAuthorizationFailureInFindCoordinator
    # T-16, TransactionManagerTest#testTransactionalIdAuthorizationFailureInInitProducerId
    # T-17, TransactionManagerTest#testTransactionalIdAuthorizationFailureInAddPartitions
    # T-18, TransactionManagerTest#testTransactionalIdAuthorizationFailureInAddOffsetsToTxn
    # T-19, TransactionManagerTest#testTransactionalIdAuthorizationFailureInTxnOffsetCommit
    ("TRANSACTIONAL_ID_AUTHORIZATION_FAILED", FatalError, "fatal from every call"),
    # T-24, TransactionManagerTest#testFatalErrorWhenProduceResponseWithInvalidPidMapping
    ("INVALID_PRODUCER_ID_MAPPING", AbortableError, "abortable: the position check behind it finds who doubled"),
    # T-25, TransactionManagerTest#testTopicAuthorizationFailureInAddPartitions
    ("TOPIC_AUTHORIZATION_FAILED", FatalError, "should be fatal"),
    # T-35, TransactionManagerTest#testInvalidProducerEpochConvertToProducerFencedInInitProducerId
    # T-36, TransactionManagerTest#testInvalidProducerEpochConvertToProducerFencedInAddPartitionToTxn
    # T-37, TransactionManagerTest#testInvalidProducerEpochConvertToProducerFencedInAddOffSetsToTxn
    # T-38, TransactionManagerTest#testInvalidProducerEpochConvertToProducerFencedInEndTxn
    ("INVALID_PRODUCER_EPOCH", GenerationFenced, ""),
    # T-47, TransactionManagerTest#testHandlingOfCoordinatorLoadingErrorOnTxnOffsetCommit
    ("COORDINATOR_LOAD_IN_PROGRESS", RetriableError, ""),
    # T-48, TransactionManagerTest#testHandlingOfUnknownTopicPartitionErrorOnTxnOffsetCommit
    ("UNKNOWN_TOPIC_OR_PART", RetriableError, ""),
    # T-49, TransactionManagerTest#testHandlingOfProducerFencedErrorOnTxnOffsetCommit
    ("PRODUCER_FENCED", GenerationFenced, ""),
    # T-52, TransactionManagerTest#shouldFailAbortIfAddOffsetsFailsWithFatalError
    ("UNKNOWN", FatalError, ""),
    # T-70, TransactionManagerTest#testTransactionAbortableExceptionInInitProducerId
    # T-71, TransactionManagerTest#testTransactionAbortableExceptionInAddPartitions
    # T-72, TransactionManagerTest#testTransactionAbortableExceptionInFindCoordinator
    # T-73, TransactionManagerTest#testTransactionAbortableExceptionInAddOffsetsToTxn
    ("TRANSACTION_ABORTABLE", AbortableError, ""),
    # T-78, SenderTest#testInvalidTxnStateIsAnAbortableError
    ("INVALID_TXN_STATE", FatalError, "fatal"),
    # T-90, KafkaProducerTest#testClusterAuthorizationFailure
    ("CLUSTER_AUTHORIZATION_FAILED", FatalError, "fatal"),
]


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


@pytest.mark.parametrize(("code", "kind", "kip"), CALLS)
def test_an_error_of_a_transactional_call_has_the_class_of_the_kip(
    code: str, kind: type[EngineError], kip: str
) -> None:
    error = KafkaError(getattr(KafkaError, code), "reason", False, kind is RetriableError, kind is AbortableError)
    assert transactional_class(error) is kind
    if kip:  # whatever the client would do
        assert transactional_class(KafkaError(getattr(KafkaError, code), "reason", False, False, True)) is kind


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
    with pytest.raises(GenerationFenced):
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
    for error in (AbortableError("late"), GenerationFenced("late"), FatalError("late")):

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


def test_what_the_client_has_retried_long_enough_aborts_the_transaction() -> None:
    """T-77, SenderTest#testTransactionShouldTransitionToAbortableForSenderAPI."""
    error = KafkaError(KafkaError.COORDINATOR_LOAD_IN_PROGRESS, "reason", False, True, True)
    assert transactional_class(error) is AbortableError


def test_an_abort_before_anything_else_does_no_harm() -> None:
    """T-69, TransactionManagerTest#testForegroundInvalidStateTransitionIsRecoverable."""
    rig = Rig()
    rig.transaction = Transaction(lambda: rig.client(rig.kafka, "id"), lambda: None, rig.kafka.clock)
    rig.transaction.abort()
    rig.transaction.open()
    rig.write(b"1")
    rig.transaction.commit({})
    assert rig.seen == [b"1"]


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


def test_a_transaction_right_behind_another_waits_for_its_end() -> None:
    """T-96, KafkaProducerTest#testTransactionV2ProduceWithConcurrentTransactionError."""
    rig = Rig()
    rig.kafka.slow_markers = True
    for value in (b"1", b"2"):
        rig.write(value)
        rig.transaction.commit({T0: Committed(1)}, "g")
    rig.kafka.settle()
    assert rig.seen == [b"1", b"2"]


@pytest.mark.parametrize(
    ("kind", "codes"),
    [
        (RetriableError, "REQUEST_TIMED_OUT NOT_ENOUGH_REPLICAS COORDINATOR_LOAD_IN_PROGRESS"),
        (RetriableError, "NOT_ENOUGH_REPLICAS_AFTER_APPEND CONCURRENT_TRANSACTIONS"),
        (FatalError, "SASL_AUTHENTICATION_FAILED CLUSTER_AUTHORIZATION_FAILED TRANSACTIONAL_ID_AUTHORIZATION_FAILED"),
        (FatalError, "TOPIC_AUTHORIZATION_FAILED GROUP_AUTHORIZATION_FAILED UNSUPPORTED_VERSION"),
        (FatalError, "UNSUPPORTED_FOR_MESSAGE_FORMAT INVALID_REPLICATION_FACTOR"),
        (AbortableError, "INVALID_RECORD INVALID_REQUIRED_ACKS RECORD_LIST_TOO_LARGE TOPIC_EXCEPTION"),
    ],
)
def test_an_error_whose_remedy_the_client_does_not_know_has_a_class_too(kind: type[EngineError], codes: str) -> None:
    """T-102, TransactionExceptionHierarchyTest#testRetriableExceptionHierarchy;
    T-105, TransactionExceptionHierarchyTest#testInvalidConfigurationExceptionHierarchy: invalid records and topics,
    too large batches and required acks are abortable in the KIP."""
    found = {code: transactional_class(KafkaError(getattr(KafkaError, code))) for code in codes.split()}
    assert found == dict.fromkeys(codes.split(), kind)


# Every code of the KIP's table, as the client names it. The epoch is the produce response's; of calls, see CALLS.
KIP = {
    "fatal": "_AUTHENTICATION SASL_AUTHENTICATION_FAILED CLUSTER_AUTHORIZATION_FAILED UNSUPPORTED_VERSION"
    " TRANSACTIONAL_ID_AUTHORIZATION_FAILED UNSUPPORTED_FOR_MESSAGE_FORMAT TOPIC_AUTHORIZATION_FAILED"
    " GROUP_AUTHORIZATION_FAILED FENCED_INSTANCE_ID UNKNOWN_MEMBER_ID ILLEGAL_GENERATION PRODUCER_FENCED _FENCED"
    " INVALID_TXN_STATE",
    "abortable": "INVALID_PRODUCER_ID_MAPPING UNKNOWN_PRODUCER_ID INVALID_RECORD INVALID_REQUIRED_ACKS"
    " NOT_ENOUGH_REPLICAS_AFTER_APPEND NOT_ENOUGH_REPLICAS RECORD_LIST_TOO_LARGE TOPIC_EXCEPTION INVALID_MSG"
    " UNKNOWN_TOPIC_OR_PART NOT_LEADER_FOR_PARTITION REQUEST_TIMED_OUT _MSG_TIMED_OUT OUT_OF_ORDER_SEQUENCE_NUMBER",
}
# The codes that Kafka 4.1's producer classifies otherwise than the KIP, from some call: TransactionManager's handlers
# and `maybeTransitionToErrorState`.
SHIPPED = {
    "abortable": "TOPIC_AUTHORIZATION_FAILED GROUP_AUTHORIZATION_FAILED UNKNOWN_MEMBER_ID ILLEGAL_GENERATION"
    " FENCED_INSTANCE_ID CLUSTER_AUTHORIZATION_FAILED TRANSACTIONAL_ID_AUTHORIZATION_FAILED INVALID_TXN_STATE"
    " UNSUPPORTED_FOR_MESSAGE_FORMAT",
    "fatal": "INVALID_PRODUCER_ID_MAPPING",
    "retriable": "NOT_ENOUGH_REPLICAS NOT_ENOUGH_REPLICAS_AFTER_APPEND UNKNOWN_TOPIC_OR_PART NOT_LEADER_FOR_PARTITION"
    " REQUEST_TIMED_OUT _MSG_TIMED_OUT",
}
WORDS = {FatalError: "fatal", AbortableError: "abortable", RetriableError: "retriable", GenerationFenced: "fenced"}
PAGE = Path(__file__).resolve().parents[3] / "docs" / "differences.md"
_ROW = re.compile(r"^\| [^|`]+ \| ([A-Z_, ]+) \| (\w+) \| (\w+) \| (\w+) \| [^|]+ \|$", re.MULTILINE)


def by_code(classes: dict[str, str]) -> dict[str, str]:
    return {code: word for word, codes in classes.items() for code in codes.split()}


def test_the_page_of_differences_has_each_code_that_the_kip_or_kafka_classifies_otherwise() -> None:
    kip, shipped = by_code(KIP), by_code(SHIPPED)
    expected = {}
    for code, word in kip.items():
        ours = WORDS[transactional_class(KafkaError(getattr(KafkaError, code)))]
        if not (word == shipped.get(code, word) == ("fatal" if ours == "fenced" else ours)):
            expected[code] = (word, shipped.get(code, word), ours)
    rows = _ROW.findall(PAGE.read_text())
    documented = {code: tuple(words) for codes, *words in rows for code in codes.split(", ")}
    assert documented == expected


def test_the_result_of_a_write_ends_the_producer_or_aborts_as_the_kip_says() -> None:
    for code, word in (by_code(KIP) | {"INVALID_PRODUCER_EPOCH": "abortable"}).items():
        found = failure_type(KafkaError(getattr(KafkaError, code)))
        assert (found is None) == (word == "fatal"), code
