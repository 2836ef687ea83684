from __future__ import annotations

import pytest
from confluent_kafka import KafkaError, KafkaException

from engine.errors import (
    AbortableError,
    EngineError,
    FailureType,
    FatalError,
    GenerationFenced,
    OffsetsMissing,
    ProduceFailed,
    RetriableError,
)
from engine.kafka.errors import (
    ABORTABLE,
    BY_NAME,
    EPOCH,
    FATAL,
    FENCED,
    OFFSETS_MISSING,
    RECORD,
    RETRIABLE,
    NeededRights,
    error_class,
    failure_type,
    transactional_class,
    translate,
    translated,
    translated_transactional,
)

CODES = {name: code for name, code in vars(KafkaError).items() if name.upper() == name and isinstance(code, int)}
LISTS = [FENCED, OFFSETS_MISSING, RECORD, RETRIABLE, FATAL, ABORTABLE, EPOCH]


def kafka_error(name: str, *, fatal: bool = False, retriable: bool = False, abort: bool = False) -> KafkaError:
    return KafkaError(CODES[name], "reason", fatal, retriable, abort)


def test_every_code_of_the_client_has_one_class() -> None:
    for name in sorted(CODES):
        for ours in (translate(kafka_error(name)), translate(kafka_error(name), transactional_class)):
            assert isinstance(ours, EngineError), name
            assert "reason" in str(ours), name


def test_every_code_of_the_client_stands_in_one_list_and_nothing_else_does() -> None:
    named = [name for names in LISTS for name in names.split()]
    assert sorted(named) == sorted(CODES)
    assert set(BY_NAME) == set(CODES)


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (KafkaError._FENCED, GenerationFenced),
        (KafkaError.REQUEST_TIMED_OUT, RetriableError),
        (KafkaError._AUTO_OFFSET_RESET, OffsetsMissing),
        (KafkaError.MSG_SIZE_TOO_LARGE, ProduceFailed),
        (KafkaError.TOPIC_AUTHORIZATION_FAILED, FatalError),
        (KafkaError.INVALID_PRODUCER_EPOCH, FatalError),  # of a plain producer: nobody has fenced it
    ],
)
def test_the_class_says_who_is_at_fault(code: int, kind: type[EngineError]) -> None:
    with pytest.raises(kind) as raised, translated():
        raise KafkaException(KafkaError(code, "reason"))
    assert isinstance(raised.value.__cause__, KafkaException)


TRANSACTIONAL: dict[type[EngineError], str] = {
    FatalError: "_AUTHENTICATION SASL_AUTHENTICATION_FAILED CLUSTER_AUTHORIZATION_FAILED "
    "TRANSACTIONAL_ID_AUTHORIZATION_FAILED UNSUPPORTED_VERSION UNSUPPORTED_FOR_MESSAGE_FORMAT "
    "TOPIC_AUTHORIZATION_FAILED GROUP_AUTHORIZATION_FAILED UNKNOWN_MEMBER_ID ILLEGAL_GENERATION "
    "INVALID_TXN_STATE",
    AbortableError: "INVALID_PRODUCER_ID_MAPPING UNKNOWN_PRODUCER_ID INVALID_RECORD INVALID_REQUIRED_ACKS "
    "NOT_ENOUGH_REPLICAS_AFTER_APPEND NOT_ENOUGH_REPLICAS RECORD_LIST_TOO_LARGE TOPIC_EXCEPTION "
    "INVALID_MSG UNKNOWN_TOPIC_OR_PART NOT_LEADER_FOR_PARTITION _MSG_TIMED_OUT "
    "OUT_OF_ORDER_SEQUENCE_NUMBER",
    GenerationFenced: "FENCED_INSTANCE_ID INVALID_PRODUCER_EPOCH PRODUCER_FENCED",
}


@pytest.mark.parametrize("kind", TRANSACTIONAL)
def test_in_a_transaction_the_table_of_kip_691_decides_even_if_the_client_would_abort(kind: type[EngineError]) -> None:
    for name in TRANSACTIONAL[kind].split():
        with pytest.raises(EngineError) as raised, translated_transactional():
            raise KafkaException(kafka_error(name, abort=True))
        assert type(raised.value) is kind, name


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (kafka_error("_TIMED_OUT", retriable=True), RetriableError),
        (kafka_error("_TIMED_OUT", abort=True), AbortableError),
        (kafka_error("_TIMED_OUT", fatal=True), FatalError),
        (kafka_error("_CONFLICT", retriable=True), FatalError),
        (kafka_error("_FENCED", fatal=True), GenerationFenced),
        (kafka_error("INVALID_PRODUCER_EPOCH", fatal=True), GenerationFenced),
        (KafkaError(9999, "from a client to come", False, True), RetriableError),
        (KafkaError(9999, "from a client to come", False, False, True), AbortableError),
        (KafkaError(9999, "from a client to come"), FatalError),
    ],
)
def test_else_the_flags_of_the_client_do(error: KafkaError, kind: type[EngineError]) -> None:
    assert transactional_class(error) is kind


@pytest.mark.parametrize(
    ("names", "kind"),
    [
        ("MSG_SIZE_TOO_LARGE TOPIC_EXCEPTION INVALID_MSG", FailureType.MESSAGE_REJECTED),
        ("NOT_ENOUGH_REPLICAS _MSG_TIMED_OUT", FailureType.DELIVERY_FAILED),
        ("_PURGE_QUEUE INVALID_PRODUCER_EPOCH OUT_OF_ORDER_SEQUENCE_NUMBER", FailureType.TRANSACTION_FAILED),
        ("TRANSACTION_ABORTABLE", FailureType.TRANSACTION_FAILED),
        ("TOPIC_AUTHORIZATION_FAILED", None),
    ],
)
def test_a_failed_delivery_says_whose_fault_it_is(names: str, kind: FailureType | None) -> None:
    """T-39, TransactionManagerTest#testInvalidProducerEpochFromProduce;
    T-79, SenderTest#testTransactionAbortableExceptionIsAnAbortableError;
    T-81, SenderTest#testTransactionAbortedExceptionOnAbortWithoutError."""
    assert {failure_type(kafka_error(name)) for name in names.split()} == {kind}
    assert failure_type(kafka_error("_FENCED", fatal=True)) is None


def test_a_plain_producer_is_not_told_to_abort() -> None:
    kinds = {error_class(kafka_error(name, abort=True)) for name in CODES}
    assert AbortableError not in kinds


def test_a_foreign_member_of_the_group_is_explained() -> None:
    assert "another consumer" in str(translate(KafkaError(KafkaError.UNKNOWN_MEMBER_ID, "x")))


def test_what_the_client_raises_within_a_delivery_report_is_found() -> None:
    def raise_within() -> None:
        try:
            raise KafkaException(kafka_error("_FENCED", fatal=True))
        except KafkaException as error:
            raise SystemError("returned a result with an exception set") from error

    with pytest.raises(GenerationFenced), translated_transactional():
        raise_within()


@pytest.mark.parametrize("bug", [KeyError("bug"), TypeError("bug"), SystemError("bug")])
@pytest.mark.parametrize("border", [translated, translated_transactional])
def test_bugs_pass_untranslated(bug: Exception, border: type) -> None:
    with pytest.raises(type(bug)), border():
        raise bug


@pytest.mark.parametrize("ours", [RetriableError("x"), AbortableError("x"), FatalError("x")])
def test_what_is_ours_already_is_not_wrapped_again(ours: EngineError) -> None:
    with pytest.raises(type(ours)) as raised, translated_transactional(), translated():
        raise ours
    assert raised.value is ours
    assert raised.value.__cause__ is None


@pytest.mark.parametrize(
    ("code", "right"),
    [
        (KafkaError.TOPIC_AUTHORIZATION_FAILED, "Read on topic t"),
        (KafkaError.GROUP_AUTHORIZATION_FAILED, "Describe on group g"),
        (KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, "Write on transactional id x"),
        (KafkaError.CLUSTER_AUTHORIZATION_FAILED, "Create on the cluster"),
    ],
)
def test_an_error_of_authorization_names_the_missing_right(code: int, right: str) -> None:
    needs = NeededRights(
        "Read on topic t", "Describe on group g", "Write on transactional id x", "Create on the cluster"
    )
    with pytest.raises(FatalError, match=f"the principal lacks {right} "), translated(needs=needs):
        raise KafkaException(KafkaError(code))


def test_other_errors_name_no_right() -> None:
    with pytest.raises(EngineError) as raised, translated(needs=NeededRights("Read on topic t")):
        raise KafkaException(KafkaError(KafkaError.NOT_COORDINATOR))
    assert "lacks" not in str(raised.value)
