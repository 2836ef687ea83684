"""Dead letters as the writers of other frameworks make them, byte for byte, from their sources."""

from __future__ import annotations

import struct

from engine.record.record import Headers, RawRecord

WRITTEN_MS, PRODUCED_MS = 1_790_000_500_000, 1_790_000_000_000
VALUE = b'{"orderId":"o-1","total":null}'
SPRING_TRACE = """org.springframework.kafka.listener.ListenerExecutionFailedException: Listener failed
\tat org.springframework.kafka.listener.KafkaMessageListenerContainer$ListenerConsumer.decorateException(K.java:2996)
\tat java.base/java.lang.Thread.run(Thread.java:1583)
\tSuppressed: org.springframework.kafka.listener.ListenerExecutionFailedException: Restored Stack Trace
\t\tat org.springframework.kafka.listener.adapter.MessagingMessageListenerAdapter.invokeHandler(M.java:401)
\tCaused by: java.lang.Error: not part of the chain
\t\t... 3 more
Caused by: org.springframework.kafka.listener.TimestampedException: Exception thrown at 2026-11-23T08:58:06.503Z
\t... 12 more
Caused by: java.lang.NullPointerException: Cannot invoke "java.math.BigDecimal.signum()"
\tat com.shop.orders.OrderListener.onCreated(OrderListener.java:57)
\t... 9 more
"""
CLOUD_STREAM_TRACE = """org.springframework.messaging.MessageHandlingException: error occurred in message handler
\tat org.springframework.integration.A.b(A.java:1)
Caused by: java.lang.IllegalStateException: total is null
\tat com.shop.Sink.accept(Sink.java:12)
"""
STREAMS_TRACE = """org.apache.kafka.common.errors.SerializationException: Can't deserialize
\tat com.shop.JsonSerde.deserialize(JsonSerde.java:31)
\tat org.apache.kafka.streams.processor.internals.RecordDeserializer.deserialize(RecordDeserializer.java:74)
Caused by: java.lang.NumberFormatException: For input string: "n/a"
\tat java.base/java.lang.Integer.parseInt(Integer.java:668)
"""


def message(
    *headers: tuple[str, bytes | None], value: bytes | None = VALUE, timestamp_type: str = "CREATE_TIME"
) -> RawRecord:
    """Return a message of a dead letter topic."""
    return RawRecord("orders.dead", 0, 7, WRITTEN_MS, timestamp_type, b"k", value, tuple(headers))


def int4(number: int) -> bytes:
    """Write as Java's `ByteBuffer.putInt`."""
    return struct.pack(">i", number)


def int8(number: int) -> bytes:
    """Write as Java's `ByteBuffer.putLong`."""
    return struct.pack(">q", number)


def spring_origin(prefix: str = "kafka_dlt-", topic: str = "orders.created", offset: int = 88_412) -> Headers:
    """Return the headers of a record's origin, as one hop of Spring's recoverer adds them."""
    return (
        (prefix + "original-topic", topic.encode()),
        (prefix + "original-partition", int4(3)),
        (prefix + "original-offset", int8(offset)),
        (prefix + "original-timestamp", int8(PRODUCED_MS)),
        (prefix + "original-timestamp-type", b"CreateTime"),
        ("kafka_dlt-original-consumer-group", b"order-listener"),
    )


def spring_exception(prefix: str = "kafka_dlt-", trace: str = SPRING_TRACE) -> Headers:
    """Return the headers of a listener's exception."""
    return (
        (prefix + "exception-fqcn", b"org.springframework.kafka.listener.ListenerExecutionFailedException"),
        (prefix + "exception-cause-fqcn", b"java.lang.NullPointerException"),
        (prefix + "exception-message", b'Listener failed; Cannot invoke "java.math.BigDecimal.signum()"'),
        (prefix + "exception-stacktrace", trace.encode()),
    )


SPRING = message(("trace", b"1"), *spring_origin(), *spring_exception())
SPRING_RETRY = message(
    *spring_origin("kafka_"),
    *spring_exception("kafka_"),
    *(
        header
        for attempts in (2, 3, 4)
        for header in (
            ("retry_topic-original-timestamp", PRODUCED_MS.to_bytes(6, "big")),
            ("retry_topic-attempts", int4(attempts)),
            ("retry_topic-backoff-timestamp", (PRODUCED_MS + 1000 * attempts).to_bytes(6, "big")),
        )
    ),
)
CLOUD_STREAM = message(
    ("contentType", b"application/json"),
    ("x-original-topic", b"orders.created"),
    ("x-original-partition", int4(3)),
    ("x-original-offset", int8(88_412)),
    ("x-original-timestamp", int8(PRODUCED_MS)),
    ("x-original-timestamp-type", b"CreateTime"),
    ("x-exception-fqcn", b"org.springframework.messaging.MessageHandlingException"),
    ("x-exception-message", b"error occurred in message handler; total is null"),
    (
        "x-exception-stacktrace",
        CLOUD_STREAM_TRACE.encode(),
    ),
)
STREAMS = message(
    ("__streams.errors.exception", b"org.apache.kafka.common.errors.SerializationException: Can't deserialize"),
    ("__streams.errors.message", b"Can't deserialize"),
    ("__streams.errors.stacktrace", STREAMS_TRACE.encode()),
    ("__streams.errors.topic", b"orders.created"),
    ("__streams.errors.partition", b"3"),
    ("__streams.errors.offset", b"88412"),
)
SMALLRYE = message(
    ("dead-letter-exception-class-name", b"java.lang.RuntimeException"),
    ("dead-letter-reason", b"could not store"),
    ("dead-letter-cause-class-name", b"java.sql.SQLException"),
    ("dead-letter-cause", b"total is null"),
    ("dead-letter-topic", b"orders.created"),
    ("dead-letter-partition", b"3"),
    ("dead-letter-offset", b"88412"),
    ("trace", b"1"),
)
SHARE_GROUP = RawRecord(
    "orders.dead",
    0,
    7,
    WRITTEN_MS,
    "CREATE_TIME",
    None,
    None,
    (
        ("__dlq.errors.topic", b"orders.created"),
        ("__dlq.errors.partition", b"3"),
        ("__dlq.errors.offset", b"88412"),
        ("__dlq.errors.group", b"order-share"),
        ("__dlq.errors.delivery.count", b"5"),
        ("__dlq.errors.message", b"Offset delivery count exceeded the threshold."),
    ),
)
WATERMILL = message(
    ("_watermill_message_uuid", b"u-1"),
    ("reason_poisoned", b"total is null"),
    ("topic_poisoned", b"orders.created"),
    ("handler_poisoned", b"store_order"),
    ("subscriber_poisoned", b"kafka.Subscriber"),
)
KARAFKA = message(
    ("source_topic", b"orders.created"),
    ("source_partition", b"3"),
    ("source_offset", b"88412"),
    ("source_consumer_group", b"orders"),
    ("source_attempts", b"3"),
    ("source_trace_id", b"5f0c"),
)
CONNECT = message(
    ("__connect.errors.topic", b"orders.created"),
    ("__connect.errors.partition", b"3"),
    ("__connect.errors.offset", b"88412"),
    ("__connect.errors.connector.name", b"orders-to-sql"),
    ("__connect.errors.task.id", b"0"),
    ("__connect.errors.stage", b"VALUE_CONVERTER"),
    ("__connect.errors.class.name", b"org.apache.kafka.connect.json.JsonConverter"),
    ("__connect.errors.exception.class.name", b"org.apache.kafka.connect.errors.DataException"),
    ("__connect.errors.exception.message", b"total is null"),
    ("__connect.errors.exception.stacktrace", b"org.apache.kafka.connect.errors.DataException: total is null\n"),
)
PYTHON_HEADERS = message(
    ("original_topic", b"orders.created"),
    ("original_partition", b"3"),
    ("original_offset", b"88412"),
    ("error_type", b"ValueError"),
    ("error_message", b"total is null"),
    ("retry_count", b"2"),
    ("failed_at", b"2026-11-23T08:58:06.503+00:00"),
)
JAVA_HEADERS = message(
    ("dlq.original.topic", b"orders.created"),
    ("dlq.original.partition", int4(3)),
    ("dlq.original.offset", int8(88_412)),
    ("dlq.exception.class", b"java.lang.IllegalStateException"),
    ("dlq.exception.message", b"total is null"),
    ("dlq.consumer.group", b"orders"),
)
