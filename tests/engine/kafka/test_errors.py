from __future__ import annotations

import pytest
from confluent_kafka import KafkaError, KafkaException

from engine.errors import (
    AbortableError,
    EngineError,
    FailureType,
    FatalError,
    Fenced,
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
        (KafkaError._FENCED, Fenced),
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


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("_AUTHENTICATION", FatalError),
        ("SASL_AUTHENTICATION_FAILED", FatalError),
        ("INVALID_PRODUCER_ID_MAPPING", AbortableError),
        ("UNKNOWN_PRODUCER_ID", AbortableError),
        ("CLUSTER_AUTHORIZATION_FAILED", FatalError),
        ("TRANSACTIONAL_ID_AUTHORIZATION_FAILED", FatalError),
        ("UNSUPPORTED_VERSION", FatalError),
        ("UNSUPPORTED_FOR_MESSAGE_FORMAT", FatalError),
        ("INVALID_RECORD", AbortableError),
        ("INVALID_REQUIRED_ACKS", AbortableError),
        ("NOT_ENOUGH_REPLICAS_AFTER_APPEND", AbortableError),
        ("NOT_ENOUGH_REPLICAS", AbortableError),
        ("RECORD_LIST_TOO_LARGE", AbortableError),
        ("TOPIC_EXCEPTION", AbortableError),
        ("INVALID_MSG", AbortableError),
        ("UNKNOWN_TOPIC_OR_PART", AbortableError),
        ("NOT_LEADER_FOR_PARTITION", AbortableError),
        ("_MSG_TIMED_OUT", AbortableError),
        ("TOPIC_AUTHORIZATION_FAILED", FatalError),
        ("GROUP_AUTHORIZATION_FAILED", FatalError),
        ("FENCED_INSTANCE_ID", Fenced),
        ("UNKNOWN_MEMBER_ID", FatalError),
        ("ILLEGAL_GENERATION", FatalError),
        ("INVALID_PRODUCER_EPOCH", Fenced),
        ("PRODUCER_FENCED", Fenced),
        ("OUT_OF_ORDER_SEQUENCE_NUMBER", AbortableError),
        ("INVALID_TXN_STATE", FatalError),
    ],
)
def test_in_a_transaction_the_table_of_kip_691_decides_even_if_the_client_would_abort(
    name: str, kind: type[EngineError]
) -> None:
    with pytest.raises(kind), translated_transactional():
        raise KafkaException(kafka_error(name, abort=True))


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (kafka_error("_TIMED_OUT", retriable=True), RetriableError),
        (kafka_error("_TIMED_OUT", abort=True), AbortableError),
        (kafka_error("_TIMED_OUT", fatal=True), FatalError),
        (kafka_error("_CONFLICT", retriable=True), FatalError),
        (kafka_error("_FENCED", fatal=True), Fenced),
        (kafka_error("INVALID_PRODUCER_EPOCH", fatal=True), Fenced),
        (KafkaError(9999, "from a client to come", False, True), RetriableError),
        (KafkaError(9999, "from a client to come", False, False, True), AbortableError),
        (KafkaError(9999, "from a client to come"), FatalError),
    ],
)
def test_else_the_flags_of_the_client_do(error: KafkaError, kind: type[EngineError]) -> None:
    assert transactional_class(error) is kind


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (kafka_error("MSG_SIZE_TOO_LARGE"), FailureType.MESSAGE_REJECTED),
        (kafka_error("TOPIC_EXCEPTION"), FailureType.MESSAGE_REJECTED),
        (kafka_error("NOT_ENOUGH_REPLICAS"), FailureType.DELIVERY_FAILED),
        (kafka_error("_MSG_TIMED_OUT"), FailureType.DELIVERY_FAILED),
        (kafka_error("_PURGE_QUEUE"), FailureType.TRANSACTION_FAILED),
        (kafka_error("INVALID_PRODUCER_EPOCH"), FailureType.TRANSACTION_FAILED),
        (kafka_error("OUT_OF_ORDER_SEQUENCE_NUMBER"), FailureType.TRANSACTION_FAILED),
        (kafka_error("_FENCED", fatal=True), None),
        (kafka_error("TOPIC_AUTHORIZATION_FAILED"), None),
    ],
)
def test_a_failed_delivery_says_whose_fault_it_is(error: KafkaError, kind: FailureType | None) -> None:
    assert failure_type(error) is kind


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

    with pytest.raises(Fenced), translated_transactional():
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
