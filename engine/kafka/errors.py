"""Translation of the client's errors: each error code becomes exactly one of the engine's classes.

- `translated`, outside of a transaction: the code decides.
- `translated_transactional`, inside a transaction: KIP-691's table decides first, then the client's flags. An error
  that "should be fatal" in the KIP is fatal, even if the client would retry it.
- `failure_type`, for delivery reports: the result is a FailureType.

Exceptions that are not Kafka's, such as a TypeError, are bugs and pass through.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass

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

Kind = type[EngineError]

FENCED = "_FENCED PRODUCER_FENCED FENCED_INSTANCE_ID FENCED_MEMBER_EPOCH TRANSACTION_COORDINATOR_FENCED"
OFFSETS_MISSING = "_AUTO_OFFSET_RESET _NO_OFFSET OFFSET_OUT_OF_RANGE _LOG_TRUNCATION"
RECORD = (
    "MSG_SIZE_TOO_LARGE RECORD_LIST_TOO_LARGE INVALID_MSG INVALID_MSG_SIZE INVALID_RECORD INVALID_TIMESTAMP _BAD_MSG"
    " _KEY_SERIALIZATION _VALUE_SERIALIZATION"
)
RETRIABLE = (  # _NOENT: a partition has no leader yet
    "_ALL_BROKERS_DOWN _ISR_INSUFF _MSG_TIMED_OUT _NODE_UPDATE _QUEUE_FULL _RESOLVE _RETRY _TIMED_OUT _TIMED_OUT_QUEUE"
    " _TRANSPORT _WAIT_CACHE _WAIT_COORD _IN_PROGRESS _PREV_IN_PROGRESS _DESTROY_BROKER _PURGE_INFLIGHT _PURGE_QUEUE"
    " _INTR _PARTITION_EOF _OUTDATED _PARTIAL BROKER_NOT_AVAILABLE CONCURRENT_TRANSACTIONS COORDINATOR_LOAD_IN_PROGRESS"
    " COORDINATOR_NOT_AVAILABLE ELIGIBLE_LEADERS_NOT_AVAILABLE FENCED_LEADER_EPOCH FETCH_SESSION_ID_NOT_FOUND"
    " INVALID_FETCH_SESSION_EPOCH KAFKA_STORAGE_ERROR LEADER_NOT_AVAILABLE LISTENER_NOT_FOUND NETWORK_EXCEPTION"
    " NOT_CONTROLLER NOT_COORDINATOR NOT_ENOUGH_REPLICAS NOT_ENOUGH_REPLICAS_AFTER_APPEND NOT_LEADER_FOR_PARTITION"
    " OFFSET_NOT_AVAILABLE PREFERRED_LEADER_NOT_AVAILABLE REASSIGNMENT_IN_PROGRESS REBALANCE_IN_PROGRESS"
    " REBOOTSTRAP_REQUIRED REPLICA_NOT_AVAILABLE REQUEST_TIMED_OUT STALE_BROKER_EPOCH STALE_CTRL_EPOCH"
    " THROTTLING_QUOTA_EXCEEDED UNKNOWN_LEADER_EPOCH UNKNOWN_TOPIC_ID UNKNOWN_TOPIC_OR_PART UNSTABLE_OFFSET_COMMIT"
    " _UNKNOWN_TOPIC _UNKNOWN_PARTITION _NOENT"
)
FATAL = (
    # KIP-691: "should be fatal", although clients call the codes of the first row abortable
    "TOPIC_AUTHORIZATION_FAILED GROUP_AUTHORIZATION_FAILED UNKNOWN_MEMBER_ID ILLEGAL_GENERATION"
    " CLUSTER_AUTHORIZATION_FAILED TRANSACTIONAL_ID_AUTHORIZATION_FAILED DELEGATION_TOKEN_AUTHORIZATION_FAILED"
    " SASL_AUTHENTICATION_FAILED _AUTHENTICATION UNSUPPORTED_VERSION UNSUPPORTED_FOR_MESSAGE_FORMAT INVALID_TXN_STATE"
    # an offset commit that would be refused again
    " OFFSET_METADATA_TOO_LARGE INVALID_COMMIT_OFFSET_SIZE STALE_MEMBER_EPOCH GROUP_ID_NOT_FOUND INVALID_GROUP_ID"
    # not an error, or an error of the caller
    " NO_ERROR UNKNOWN _STATE _CONFLICT _INVALID_ARG _INVALID_TYPE _NOT_CONFIGURED _NOT_IMPLEMENTED _NOOP"
    " _READ_ONLY _UNDERFLOW _EXISTING_SUBSCRIPTION _ASSIGN_PARTITIONS _REVOKE_PARTITIONS _ASSIGNMENT_LOST"
    " _MAX_POLL_EXCEEDED _UNKNOWN_GROUP _UNKNOWN_BROKER _UNKNOWN_PROTOCOL _APPLICATION INVALID_REQUEST"
    # an error of the client itself
    " _FATAL _FAIL _DESTROY _FS _SSL _CRIT_SYS_RESOURCE _BAD_COMPRESSION _UNSUPPORTED_FEATURE _GAPLESS_GUARANTEE"
    " _KEY_DESERIALIZATION _VALUE_DESERIALIZATION _INVALID_DIFFERENT_RECORD UNSUPPORTED_COMPRESSION_TYPE"
    # group protocols
    " INCONSISTENT_GROUP_PROTOCOL INVALID_SESSION_TIMEOUT NON_EMPTY_GROUP MEMBER_ID_REQUIRED GROUP_MAX_SIZE_REACHED"
    " GROUP_SUBSCRIBED_TO_TOPIC UNRELEASED_INSTANCE_ID UNSUPPORTED_ASSIGNOR INVALID_REGULAR_EXPRESSION"
    " STREAMS_INVALID_TOPOLOGY STREAMS_INVALID_TOPOLOGY_EPOCH STREAMS_TOPOLOGY_FENCED"
    " INVALID_RECORD_STATE SHARE_SESSION_NOT_FOUND INVALID_SHARE_SESSION_EPOCH SHARE_SESSION_LIMIT_REACHED"
    # cluster configuration
    " TOPIC_ALREADY_EXISTS INVALID_PARTITIONS INVALID_REPLICATION_FACTOR INVALID_REPLICA_ASSIGNMENT INVALID_CONFIG"
    " POLICY_VIOLATION INVALID_TRANSACTION_TIMEOUT SECURITY_DISABLED UNSUPPORTED_SASL_MECHANISM ILLEGAL_SASL_STATE"
    " LOG_DIR_NOT_FOUND TOPIC_DELETION_DISABLED ELECTION_NOT_NEEDED NO_REASSIGNMENT_IN_PROGRESS RESOURCE_NOT_FOUND"
    " DUPLICATE_RESOURCE UNACCEPTABLE_CREDENTIAL INCONSISTENT_VOTER_SET INVALID_UPDATE_VERSION FEATURE_UPDATE_FAILED"
    " PRINCIPAL_DESERIALIZATION_FAILURE INCONSISTENT_TOPIC_ID MISMATCHED_ENDPOINT_TYPE UNSUPPORTED_ENDPOINT_TYPE"
    " UNKNOWN_CONTROLLER_ID UNKNOWN_SUBSCRIPTION_ID TELEMETRY_TOO_LARGE INVALID_REGISTRATION FENCED_STATE_EPOCH"
    " INVALID_VOTER_KEY DUPLICATE_VOTER VOTER_NOT_FOUND DELEGATION_TOKEN_AUTH_DISABLED DELEGATION_TOKEN_NOT_FOUND"
    " DELEGATION_TOKEN_OWNER_MISMATCH DELEGATION_TOKEN_REQUEST_NOT_ALLOWED DELEGATION_TOKEN_EXPIRED"
    " INVALID_PRINCIPAL_TYPE"
)
# Fatal to a plain producer. In a transaction "abortable as we bump the epoch", or an error of one batch (KIP-691).
ABORTABLE = (
    "INVALID_PRODUCER_ID_MAPPING UNKNOWN_PRODUCER_ID OUT_OF_ORDER_SEQUENCE_NUMBER DUPLICATE_SEQUENCE_NUMBER"
    " TRANSACTION_ABORTABLE OPERATION_NOT_ATTEMPTED _INCONSISTENT TOPIC_EXCEPTION INVALID_REQUIRED_ACKS"
)
EPOCH = "INVALID_PRODUCER_EPOCH"  # fenced in a transactional call, abortable in a delivery report (KIP-691)

BY_NAME: dict[str, Kind] = {
    **dict.fromkeys((*FATAL.split(), *ABORTABLE.split(), EPOCH), FatalError),
    **dict.fromkeys(FENCED.split(), GenerationFenced),
    **dict.fromkeys(OFFSETS_MISSING.split(), OffsetsMissing),
    **dict.fromkeys(RECORD.split(), ProduceFailed),
    **dict.fromkeys(RETRIABLE.split(), RetriableError),
}
IN_TRANSACTION: dict[str, Kind] = {
    **BY_NAME,
    **dict.fromkeys((*ABORTABLE.split(), *RECORD.split()), AbortableError),
    EPOCH: GenerationFenced,
}
BY_CODE: dict[int, Kind] = {getattr(KafkaError, name): kind for name, kind in BY_NAME.items()}
BY_CODE_IN_TRANSACTION: dict[int, Kind] = {getattr(KafkaError, name): kind for name, kind in IN_TRANSACTION.items()}
REJECTED = {code for code, kind in BY_CODE.items() if kind is ProduceFailed} | {
    KafkaError._INVALID_ARG,  # a field of the record has an impossible value
    KafkaError.TOPIC_EXCEPTION,
}
# Errors of the other records of a transaction after one of them is lost; _STATE: records not yet handed over.
CONSEQUENCES = {KafkaError._PURGE_QUEUE, KafkaError._PURGE_INFLIGHT, KafkaError._STATE, KafkaError._INCONSISTENT}


def error_class(error: KafkaError) -> Kind:
    """Return the class of a client error outside of a transaction.

    A code that no table names is fatal, unless the client itself would retry it.
    """
    kind = BY_CODE.get(error.code())
    if error.fatal():
        return GenerationFenced if BY_CODE_IN_TRANSACTION.get(error.code()) is GenerationFenced else FatalError
    return kind or (RetriableError if error.retriable() else FatalError)


def transactional_class(error: KafkaError) -> Kind:
    """Return the class of a transactional call's error: fatal in KIP-691's table first, then the client's flags."""
    kind = BY_CODE_IN_TRANSACTION.get(error.code())
    if error.fatal() or kind in {GenerationFenced, FatalError}:
        return GenerationFenced if kind is GenerationFenced else FatalError
    if error.txn_requires_abort():
        return AbortableError
    return kind or (RetriableError if error.retriable() else FatalError)


def failure_type(error: KafkaError) -> FailureType | None:
    """Return the type of a failed delivery. None if the client or its right to write is gone."""
    if error.fatal():
        return None
    if error.code() in REJECTED:
        return FailureType.MESSAGE_REJECTED
    if error.code() in CONSEQUENCES:
        return FailureType.TRANSACTION_FAILED
    if error_class(error) is RetriableError:
        return FailureType.DELIVERY_FAILED
    abortable = BY_CODE_IN_TRANSACTION.get(error.code()) is AbortableError or error.txn_requires_abort()
    return FailureType.TRANSACTION_FAILED if abortable or error.code() == KafkaError.INVALID_PRODUCER_EPOCH else None


@dataclass(frozen=True, slots=True)
class NeededRights:
    """The rights that a call needs, as "Read on topic orders", for the message when one is missing."""

    topic: str = ""
    group: str = ""
    transactional_id: str = ""
    cluster: str = ""

    def missing(self, error: KafkaError) -> str:
        """Return the right whose absence the error reports; empty for other errors."""
        rights = {
            KafkaError.TOPIC_AUTHORIZATION_FAILED: self.topic,
            KafkaError.GROUP_AUTHORIZATION_FAILED: self.group,
            KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: self.transactional_id,
            KafkaError.CLUSTER_AUTHORIZATION_FAILED: self.cluster,
        }
        return rights.get(error.code(), "")


NO_RIGHTS = NeededRights()


def translate(
    error: KafkaError, classify: Callable[[KafkaError], Kind] = error_class, needs: NeededRights = NO_RIGHTS
) -> EngineError:
    """Convert a client error to the engine's."""
    kind = classify(error)
    if kind is ProduceFailed:
        return ProduceFailed((("", describe(error)),), (), FailureType.MESSAGE_REJECTED)
    return kind(describe(error, needs))


def describe(error: KafkaError, needs: NeededRights = NO_RIGHTS) -> str:
    """Return the error's name and the client's message, for people, with the right that is missing."""
    hint = ""
    if error.code() == KafkaError.UNKNOWN_MEMBER_ID:
        hint = "; another consumer has joined this connector's group: stop it, or give it a group of its own"
    elif right := needs.missing(error):
        hint = f"; the principal lacks {right} (`python -m engine acls` prints the commands that grant rights)"
    return f"{error.name()}: {error.str()}{hint}"


@contextmanager
def translated(classify: Callable[[KafkaError], Kind] = error_class, needs: NeededRights = NO_RIGHTS) -> Iterator[None]:
    """Convert the client's exceptions in the block to the engine's. `needs` are the rights of the calls in it."""
    try:
        yield
    except (KafkaException, SystemError) as error:
        # Not the exception itself: it refers to this frame, and such a cycle would keep a client that nobody uses.
        reason = _reason(error)
        if reason is None:
            raise
        if isinstance(reason, KafkaError):
            raise translate(reason, classify, needs) from error
        raise FatalError(reason) from error
    except TimeoutError as error:
        raise RetriableError("the brokers did not respond in time") from error


def translated_transactional(needs: NeededRights = NO_RIGHTS) -> AbstractContextManager[None]:
    """Convert the exceptions of transactional calls in the block to the engine's."""
    return translated(transactional_class, needs)


def _reason(error: KafkaException | SystemError) -> KafkaError | str | None:
    """Return the client's error or its text; None for an exception of another origin.

    The client wraps an exception from a delivery report callback in a SystemError.
    """
    cause = error.__cause__ if isinstance(error, SystemError) else error
    if not isinstance(cause, KafkaException):
        return None
    return cause.args[0] if cause.args and isinstance(cause.args[0], KafkaError) else str(cause)
