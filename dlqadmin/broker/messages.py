"""Convert the client's messages to the engine's records."""

from confluent_kafka import TIMESTAMP_CREATE_TIME, TIMESTAMP_LOG_APPEND_TIME, Message

from engine.record.record import Headers, RawRecord

_TIMESTAMP_TYPES = {TIMESTAMP_CREATE_TIME: "CREATE_TIME", TIMESTAMP_LOG_APPEND_TIME: "LOG_APPEND_TIME"}


class BrokerUnavailable(Exception):
    """Kafka did not respond, or refused the request. The text is the client's."""


class NotAuthorized(BrokerUnavailable):
    """Kafka denies this client access to the topic. Retrying does not help."""


def from_kafka(message: Message) -> RawRecord:
    """Return the record with unchanged bytes. Header order, duplicates and null are kept."""
    kind, timestamp = message.timestamp()
    return RawRecord(
        topic=message.topic() or "",
        partition=_number(message.partition()),
        offset=_number(message.offset()),
        timestamp=timestamp if kind in _TIMESTAMP_TYPES else -1,
        timestamp_type=_TIMESTAMP_TYPES.get(kind, "NO_TIMESTAMP_TYPE"),
        key=_bytes(message.key()),
        value=_bytes(message.value()),
        headers=_headers(message.headers() or []),
    )


def _headers(rows: object) -> Headers:
    pairs = rows.items() if isinstance(rows, dict) else rows
    return tuple((str(name), _bytes(value)) for name, value in pairs)  # type: ignore[attr-defined]  # the client's stubs say object


def _bytes(value: object) -> bytes | None:
    return value.encode() if isinstance(value, str) else value  # type: ignore[return-value]  # bytes or None otherwise


def _number(value: int | None) -> int:
    return -1 if value is None else value
