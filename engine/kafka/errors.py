"""The border: every code of the client becomes one class of ours, with the client's words, exactly once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from confluent_kafka import KafkaError, KafkaException

from engine.errors import EngineError, FatalError, Fenced, OffsetsMissing, ProduceFailed, RetriableError

FENCED = (
    "_FENCED PRODUCER_FENCED INVALID_PRODUCER_EPOCH FENCED_INSTANCE_ID FENCED_MEMBER_EPOCH"
    " TRANSACTION_COORDINATOR_FENCED"
)
OFFSETS_MISSING = "_AUTO_OFFSET_RESET _NO_OFFSET OFFSET_OUT_OF_RANGE _LOG_TRUNCATION"
RECORD = (
    "MSG_SIZE_TOO_LARGE RECORD_LIST_TOO_LARGE INVALID_MSG INVALID_MSG_SIZE INVALID_RECORD INVALID_TIMESTAMP _BAD_MSG"
    " _KEY_SERIALIZATION _VALUE_SERIALIZATION"
)
RETRIABLE = (
    "_ALL_BROKERS_DOWN _ISR_INSUFF _MSG_TIMED_OUT _NODE_UPDATE _QUEUE_FULL _RESOLVE _RETRY _TIMED_OUT _TIMED_OUT_QUEUE"
    " _TRANSPORT _WAIT_CACHE _WAIT_COORD _IN_PROGRESS _PREV_IN_PROGRESS _DESTROY_BROKER _PURGE_INFLIGHT _PURGE_QUEUE"
    " _INTR _PARTITION_EOF _OUTDATED _PARTIAL BROKER_NOT_AVAILABLE CONCURRENT_TRANSACTIONS COORDINATOR_LOAD_IN_PROGRESS"
    " COORDINATOR_NOT_AVAILABLE ELIGIBLE_LEADERS_NOT_AVAILABLE FENCED_LEADER_EPOCH FETCH_SESSION_ID_NOT_FOUND"
    " INVALID_FETCH_SESSION_EPOCH KAFKA_STORAGE_ERROR LEADER_NOT_AVAILABLE LISTENER_NOT_FOUND NETWORK_EXCEPTION"
    " NOT_CONTROLLER NOT_COORDINATOR NOT_ENOUGH_REPLICAS NOT_ENOUGH_REPLICAS_AFTER_APPEND NOT_LEADER_FOR_PARTITION"
    " OFFSET_NOT_AVAILABLE PREFERRED_LEADER_NOT_AVAILABLE REASSIGNMENT_IN_PROGRESS REBALANCE_IN_PROGRESS"
    " REBOOTSTRAP_REQUIRED REPLICA_NOT_AVAILABLE REQUEST_TIMED_OUT STALE_BROKER_EPOCH STALE_CTRL_EPOCH"
    " THROTTLING_QUOTA_EXCEEDED UNKNOWN_LEADER_EPOCH UNKNOWN_TOPIC_ID UNKNOWN_TOPIC_OR_PART UNSTABLE_OFFSET_COMMIT"
    " _UNKNOWN_TOPIC _UNKNOWN_PARTITION"
)

BY_NAME: dict[str, type[EngineError]] = {
    **dict.fromkeys(FENCED.split(), Fenced),
    **dict.fromkeys(OFFSETS_MISSING.split(), OffsetsMissing),
    **dict.fromkeys(RECORD.split(), ProduceFailed),
    **dict.fromkeys(RETRIABLE.split(), RetriableError),
}
BY_CODE: dict[int, type[EngineError]] = {getattr(KafkaError, name): kind for name, kind in BY_NAME.items()}


def error_class(error: KafkaError) -> type[EngineError]:
    """The class for a client's error; what no table names is fatal, unless the client itself would retry it."""
    if error.fatal():
        return Fenced if BY_CODE.get(error.code()) is Fenced else FatalError
    return BY_CODE.get(error.code()) or (RetriableError if error.retriable() else FatalError)


def translate(error: KafkaError) -> EngineError:
    """The client's error as ours."""
    kind = error_class(error)
    if kind is ProduceFailed:
        return ProduceFailed((("", describe(error)),))
    return kind(describe(error))


def describe(error: KafkaError) -> str:
    """The client's words, for people."""
    hint = ""
    if error.code() == KafkaError.UNKNOWN_MEMBER_ID:
        hint = "; another consumer has joined this connector's group: stop it, or give it a group of its own"
    return f"{error.name()}: {error.str()}{hint}"


@contextmanager
def translated() -> Iterator[None]:
    """What the client raises inside comes out as ours."""
    try:
        yield
    except KafkaException as error:
        first = error.args[0] if error.args else None
        if isinstance(first, KafkaError):
            raise translate(first) from error
        raise FatalError(str(error)) from error
    except TimeoutError as error:
        raise RetriableError("the brokers did not answer in time") from error
