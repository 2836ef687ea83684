"""The facts that must be read from each writer's dead letters: one row a writer, one cell a cause."""

from __future__ import annotations

from typing import NamedTuple

from dlqadmin.deadletters.models import TimeSource
from tests.interop.sample import CONSTRAINT, JSON, KEY, NULL, PRODUCTION, SHAPE


class Failure(NamedTuple):
    """The root cause: its class, the begin of its message, and the stage.

    `retries` is None if the dead letter does not tell it.
    """

    root_class: str
    message: str
    stage: str
    retries: int | None = None


class Expected(NamedTuple):
    """The facts of one writer's dead letters. `is_pointer`: they have neither key nor value."""

    dialect: str
    failures: dict[str, Failure]
    group: str = ""
    connector: str = ""
    time_source: TimeSource = TimeSource.CREATE
    is_pointer: bool = False


JACKSON = ("com.fasterxml.jackson.core.io.JsonEOFException", "Unexpected end-of-input in VALUE_STRING")
UNBOXED = ("java.lang.NullPointerException", 'Cannot invoke "java.lang.Number.doubleValue()"')
H2 = ("org.h2.jdbc.JdbcSQLIntegrityConstraintViolationException", 'Check constraint violation: "DEPTH_IS_POSITIVE: "')
DELIVERED = ("DeliveryCountExceeded", "Offset delivery count exceeded the threshold.")
SERIALIZATION = "org.apache.kafka.common.errors.SerializationException"
DATA = "org.apache.kafka.connect.errors.DataException"


def java(json: str, null: str, constraint: str, retries: int | None = None) -> dict[str, Failure]:
    """Return the failures of the writers in Java, in these stages."""
    return {
        JSON: Failure(*JACKSON, json, retries),
        NULL: Failure(*UNBOXED, null, retries),
        CONSTRAINT: Failure(*H2, constraint, retries),
    }


STREAMS = Expected(
    "kafka-streams",
    {
        **java("DESERIALIZATION", "PROCESSING", "PROCESSING"),
        PRODUCTION: Failure(SERIALIZATION, "No title for the type explosion", "PRODUCTION"),
    },
    time_source=TimeSource.INDEX,
)

EXPECTED: dict[str, Expected] = {
    "spring-listener": Expected(
        "spring-kafka", java("LISTENER", "LISTENER", "LISTENER"), group="spring-listener-group"
    ),
    "spring-retry-topics": Expected(
        "spring-kafka",
        java("LISTENER", "LISTENER", "LISTENER", retries=2),
        group="spring-retry-topics-group",
        time_source=TimeSource.WRITER,
    ),
    "spring-deserializers": Expected(
        "spring-kafka",
        {
            **java("VALUE_DESERIALIZER", "LISTENER", "LISTENER"),
            KEY: Failure(SERIALIZATION, "The key is not an event id", "KEY_DESERIALIZER"),
        },
        group="spring-deserializers-group",
    ),
    "streams": STREAMS,
    "streams-exactly-once": STREAMS,
    "connect": Expected(
        "connect-headers",
        {
            **java("VALUE_CONVERTER", "TASK_PUT", "TASK_PUT"),
            SHAPE: Failure(DATA, "Only Map objects supported in absence of schema", "TRANSFORMATION"),
        },
        connector="connect",
        time_source=TimeSource.INDEX,
    ),
    "smallrye": Expected("smallrye", java("CHANNEL", "CHANNEL", "CHANNEL")),
    "spring-cloud-stream": Expected("spring-cloud-stream", java("LISTENER", "LISTENER", "LISTENER")),
    "parallel-consumer": Expected(
        "common-headers",
        java("CONSUMER", "CONSUMER", "CONSUMER", retries=2),
        group="parallel-consumer-group",
        time_source=TimeSource.WRITER,
    ),
    "share-group": Expected(
        "share-groups",
        {
            JSON: Failure("RejectedByClient", "Offset rejected by client.", "SHARE_CONSUMER", 0),
            NULL: Failure(*DELIVERED, "SHARE_CONSUMER", 2),
            CONSTRAINT: Failure(*DELIVERED, "SHARE_CONSUMER", 2),
        },
        group="share-group-group",
        is_pointer=True,
    ),
    "kafkajs": Expected(
        "common-headers",
        {
            JSON: Failure("SyntaxError", "Unterminated string in JSON", "CONSUMER", 2),
            NULL: Failure("TypeError", "Cannot read properties of null", "CONSUMER", 2),
            CONSTRAINT: Failure("Error", "CHECK constraint failed: depth >= 0", "CONSUMER", 2),
        },
        group="kafkajs-group",
        time_source=TimeSource.WRITER,
    ),
    "watermill": Expected(
        "watermill",
        {
            JSON: Failure("earthquakes", "unexpected end of JSON input", "HANDLER"),
            NULL: Failure("earthquakes", "constraint failed: NOT NULL constraint failed: earthquakes.gap", "HANDLER"),
            CONSTRAINT: Failure("earthquakes", "constraint failed: CHECK constraint failed: depth >= 0", "HANDLER"),
        },
    ),
    "python": Expected(
        "json-envelope",
        {
            JSON: Failure("json.decoder.JSONDecodeError", "Unterminated string starting at", "CONSUMER", 2),
            NULL: Failure("TypeError", "unsupported operand type(s) for +: 'NoneType' and 'float'", "CONSUMER", 2),
            CONSTRAINT: Failure("sqlite3.IntegrityError", "CHECK constraint failed: depth >= 0", "CONSUMER", 2),
        },
        time_source=TimeSource.WRITER,
    ),
}
