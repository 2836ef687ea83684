from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from engine import dialects
from engine.dialects import HEADER_DIALECTS, error_headers, read
from engine.dialects.facts import Attempt, DeadLetterFacts, Origin
from engine.dialects.spring_kafka import MAX_LISTED
from engine.dialects.stack_traces import parse
from engine.record.record import RawRecord
from tests.engine.dialects import foreign_letters as letters
from tests.engine.dialects.foreign_letters import (
    PRODUCED_MS,
    VALUE,
    WRITTEN_MS,
    int4,
    int8,
    message,
    spring_exception,
    spring_origin,
)

ORIGIN = Origin("orders.created", 3, 88_412)
TIMED = Origin("orders.created", 3, 88_412, PRODUCED_MS)
COPIED = Origin("orders.created", 3, 88_412, WRITTEN_MS)
NPE = ("java.lang.NullPointerException", 'Cannot invoke "java.math.BigDecimal.signum()"')
THROWN_MS = int(datetime(2026, 11, 23, 8, 58, 6, 503_000, tzinfo=UTC).timestamp() * 1000)


def facts_of(message: RawRecord, *names: str) -> tuple[Any, ...]:
    facts = read(message)
    return tuple(getattr(facts, name) for name in names)


@pytest.mark.parametrize(
    ("message", "dialect", "stage", "origin", "cause", "group", "attempt"),
    [
        (letters.SPRING, "spring-kafka", "LISTENER", TIMED, NPE, "order-listener", None),
        (letters.SPRING_RETRY, "spring-kafka", "LISTENER", TIMED, NPE, "order-listener", 2),
        (
            letters.CLOUD_STREAM,
            "spring-cloud-stream",
            "LISTENER",
            TIMED,
            ("java.lang.IllegalStateException", "total is null"),
            "",
            None,
        ),
        (
            letters.STREAMS,
            "kafka-streams",
            "DESERIALIZATION",
            COPIED,
            ("java.lang.NumberFormatException", 'For input string: "n/a"'),
            "",
            None,
        ),
        (letters.SMALLRYE, "smallrye", "CHANNEL", ORIGIN, ("java.sql.SQLException", "total is null"), "", None),
        (
            letters.SHARE_GROUP,
            "share-groups",
            "SHARE_CONSUMER",
            ORIGIN,
            ("DeliveryCountExceeded", "Offset delivery count exceeded the threshold."),
            "order-share",
            4,
        ),
        (
            letters.WATERMILL,
            "watermill",
            "HANDLER",
            Origin("orders.created"),
            ("store_order", "total is null"),
            "",
            None,
        ),
        (
            letters.KARAFKA,
            "karafka",
            "CONSUMER",
            ORIGIN,
            ("UnknownException", "Karafka's headers do not tell the error"),
            "orders",
            2,
        ),
        (
            letters.CONNECT,
            "connect-headers",
            "VALUE_CONVERTER",
            COPIED,
            ("org.apache.kafka.connect.errors.DataException", "total is null"),
            "",
            None,
        ),
        (letters.PYTHON_HEADERS, "common-headers", "CONSUMER", ORIGIN, ("ValueError", "total is null"), "", 2),
        (
            letters.JAVA_HEADERS,
            "common-headers",
            "CONSUMER",
            ORIGIN,
            ("java.lang.IllegalStateException", "total is null"),
            "orders",
            None,
        ),
    ],
)
def test_each_framework_is_read(
    message: RawRecord,
    dialect: str,
    stage: str,
    origin: Origin,
    cause: tuple[str, str],
    group: str,
    attempt: int | None,
) -> None:
    facts = read(message)
    assert (facts.dialect, facts.stage, facts.problems) == (dialect, stage, ())
    assert (facts.origin, (facts.root_class, facts.root_message)) == (origin, cause)
    assert (facts.group, facts.attempt) == (group, attempt)
    assert (facts.key, facts.value, facts.own_value) == (message.key, message.value, True)
    assert facts.complete is (message.value is not None)
    assert "origin topic" in {note.field for note in facts.notes}


def test_only_connect_and_streams_copy_the_timestamp() -> None:
    known = {read(value).dialect: read(value).copies_timestamp for value in vars(letters).values() if is_message(value)}
    assert {name for name, copies in known.items() if copies} == {"connect-headers", "kafka-streams"}


@pytest.mark.parametrize("letter", [letters.CONNECT, letters.STREAMS])
def test_a_copied_timestamp_is_the_origins_unless_the_broker_replaced_it(letter: RawRecord) -> None:
    assert facts_of(letter, "origin") == (COPIED,)
    assert facts_of(replace(letter, timestamp_type="LOG_APPEND_TIME"), "origin") == (ORIGIN,)


def is_message(value: object) -> bool:
    return isinstance(value, RawRecord)


def test_every_header_of_a_dialect_is_in_its_profile_and_the_records_own_are_not() -> None:
    for value in filter(is_message, vars(letters).values()):
        facts = read(value)
        own = {"trace", "contentType", "_watermill_message_uuid"}
        assert {name for name, _ in value.headers} - own == error_headers(facts.dialect, value.headers)


class TestSpring:
    @pytest.mark.parametrize("prefix", ["kafka_dlt-", "kafka_"])
    def test_the_first_headers_tell_the_origin_and_its_group_and_the_last_the_failure(self, prefix: str) -> None:
        later = spring_origin(prefix, topic="orders.created-dlt", offset=1)
        second = (*later[:-1], (later[-1][0], b"dlt-listener"), (prefix + "exception-message", b"first"))
        facts = read(message(*spring_origin(prefix), *second, *spring_exception(prefix)))
        assert (facts.origin, facts.group, facts.root_message) == (TIMED, "order-listener", NPE[1])

    def test_a_listener_with_retry_topics_tells_when_it_failed(self) -> None:
        assert facts_of(letters.SPRING_RETRY, "failed_at") == (THROWN_MS,)

    @pytest.mark.parametrize(("data", "retries"), [(b"\x02", 0), (int4(2), 0), (b"\x05", 3), (int4(500), 498)])
    def test_attempts_have_one_byte_or_four(self, data: bytes, retries: int) -> None:
        headers = (*spring_origin("kafka_"), *spring_exception("kafka_"), ("retry_topic-attempts", data))
        assert facts_of(message(*headers), "attempt", "problems") == (retries, ())

    def test_of_repeated_attempts_the_last_one_counts(self) -> None:
        attempts = tuple(("retry_topic-attempts", int4(n)) for n in (2, 3, 4))
        assert facts_of(message(*spring_origin("kafka_"), *spring_exception("kafka_"), *attempts), "attempt") == (2,)

    def test_a_key_that_can_not_be_deserialized_is_told_by_headers_of_its_own(self) -> None:
        raised = b"org.springframework.kafka.support.serializer.DeserializationException"
        headers = (("kafka_dlt-key-exception-fqcn", raised), ("kafka_dlt-key-exception-message", b"no JSON"))
        facts = read(message(*spring_origin(), *headers))
        assert (facts.stage, facts.root_class, facts.root_message) == ("KEY_DESERIALIZER", raised.decode(), "no JSON")

    def test_a_value_that_can_not_be_deserialized_is_no_failure_of_the_listener(self) -> None:
        raised = b"org.springframework.kafka.support.serializer.DeserializationException"
        assert facts_of(message(*spring_origin(), ("kafka_dlt-exception-fqcn", raised)), "stage") == (
            "VALUE_DESERIALIZER",
        )

    def test_without_a_stack_trace_the_cause_header_tells_the_root(self) -> None:
        facts = read(message(*spring_origin(), *spring_exception()[:-1]))
        assert (facts.root_class, facts.root_message) == NPE
        assert [note.field for note in facts.notes if note.guessed] == ["root message"]

    def test_a_suppressed_exception_is_no_cause(self) -> None:
        chain = parse(read(letters.SPRING).trace)
        assert [link.class_name.rpartition(".")[2] for link in chain] == [
            "ListenerExecutionFailedException",
            "TimestampedException",
            "NullPointerException",
        ]
        assert [len(link.frames) for link in chain] == [2, 0, 1]

    def test_decimal_text_is_read_where_the_application_wrote_it(self) -> None:
        headers = (("kafka_dlt-original-partition", b"12"), ("kafka_dlt-original-offset", b"12345678"))
        named = (("kafka_dlt-original-topic", b"t"), *headers, *spring_exception())
        assert facts_of(message(*named), "origin", "problems") == (Origin("t", 12, 12_345_678), ())


def retried(counts: Sequence[int], due: Sequence[int] = (), *, topics: Sequence[str] = ("orders",)) -> RawRecord:
    """Return a dead letter of retry topics that holds these counts and due times, and hops through these topics."""
    hops = [header for number, topic in enumerate(topics) for header in spring_origin("kafka_", topic, number)]
    counted = [("retry_topic-attempts", int4(count)) for count in counts]
    times = [("retry_topic-backoff-timestamp", time.to_bytes(6, "big")) for time in due]
    return message(*hops, *spring_exception("kafka_"), *counted, *times)


class TestAttempts:
    def test_the_chain_has_the_origin_the_due_times_and_the_time_of_the_last_failure(self) -> None:
        facts = read(retried((2, 3, 4), (1000, 3000, 5000)))
        assert facts.attempts == (
            Attempt(1, "orders", 3, 0),
            Attempt(2, due_at=1000),
            Attempt(3, due_at=3000, failed_at=THROWN_MS),
        )
        notes = {note.field: (note.read_from, note.value) for note in facts.notes}
        assert notes["attempt 3 due"] == ("header retry_topic-backoff-timestamp", "3000")
        assert "attempt 4 due" not in notes  # it was not made

    def test_an_application_that_keeps_all_origins_tells_the_retry_topics_too(self) -> None:
        facts = read(retried((2, 3, 4), (1, 2, 3), topics=("orders", "orders-retry-0", "orders-retry-1")))
        assert [attempt.topic for attempt in facts.attempts] == ["orders", "orders-retry-0", "orders-retry-1"]

    def test_only_the_newest_count_tells_the_first_and_the_last_attempt(self) -> None:
        assert read(retried((4,), (5000,))).attempts == (
            Attempt(1, "orders", 3, 0),
            Attempt(3, failed_at=THROWN_MS),
        )

    def test_counts_and_due_times_that_do_not_belong_together_tell_no_due_time(self) -> None:
        assert [attempt.due_at for attempt in read(retried((2, 3, 4), (1000,))).attempts] == [None, None]

    @pytest.mark.parametrize("counts", [(), (2,)])
    def test_a_single_attempt_is_no_chain(self, counts: Sequence[int]) -> None:
        assert read(retried(counts)).attempts == ()

    @pytest.mark.parametrize("bad", [b"", b"123456789", None, b"\xff" * 6, b"\x7f" * 8])
    def test_a_due_time_that_is_none_is_a_problem(self, bad: bytes | None) -> None:
        good = retried((2, 3, 4), (1000, 3000))
        facts = read(message(*good.headers, ("retry_topic-backoff-timestamp", bad)))
        assert [attempt.due_at for attempt in facts.attempts] == [None, 1000, 3000]
        assert facts.problems == (
            "header retry_topic-backoff-timestamp: no time of 1 to 8 bytes, so it is unknown when an attempt was due",
        )

    def test_a_long_chain_is_cut_in_the_middle(self) -> None:
        facts = read(retried(range(2, 1002), range(1, 1001)))
        assert (len(facts.attempts), facts.attempts[0].number, facts.attempts[-1].number) == (MAX_LISTED, 1, 1000)

    def test_topics_in_which_the_record_failed_in_turn_are_told_without_retry_topics(self) -> None:
        later = spring_origin(topic="orders-dlt", offset=1)
        facts = read(message(*spring_origin(topic="orders", offset=5), *later, *spring_exception(trace="")))
        assert facts.attempts == (Attempt(1, "orders", 3, 5), Attempt(2, "orders-dlt", 3, 1))


class TestHops:
    def test_the_latest_writer_is_the_one_whose_headers_come_last(self) -> None:
        both = message(*letters.SPRING.headers, *letters.CONNECT.headers)
        assert facts_of(both, "dialect", "group") == ("connect-headers", "")
        assert facts_of(message(*letters.CONNECT.headers, *letters.SPRING.headers), "dialect") == ("spring-kafka",)

    def test_smallrye_writes_its_headers_first(self) -> None:
        both = message(*letters.SMALLRYE.headers, *letters.SPRING.headers)
        assert facts_of(both, "dialect") == ("smallrye",)
        other = (("dead-letter-topic", b"orders"), ("dead-letter-reason", b"first"), ("dead-letter-offset", b"1"))
        facts = read(message(*letters.SMALLRYE.headers, *other))
        assert (facts.origin, facts.root_message) == (Origin("orders", 3, 1), "total is null")

    def test_headers_of_earlier_failures_are_left_off_too(self) -> None:
        both = (*letters.SPRING.headers, *letters.CONNECT.headers)
        assert {name for name, _ in both} - error_headers("connect-headers", both) == {"trace"}

    def test_names_that_applications_use_too_stay_in_letters_of_other_frameworks(self) -> None:
        headers = (*letters.CONNECT.headers, *letters.KARAFKA.headers, ("x-original-topic", b"t"), ("error", b"e"))
        kept = {name for name, _ in headers} - error_headers("connect-headers", headers)
        assert kept == {"x-original-topic", "error", *(name for name, _ in letters.KARAFKA.headers)}


class TestStreams:
    def test_a_punctuation_has_no_record(self) -> None:
        headers = (
            ("__streams.errors.exception", b"java.lang.IllegalStateException: late"),
            ("__streams.errors.message", b"late"),
            ("__streams.errors.topic", None),
            ("__streams.errors.partition", b"-1"),
            ("__streams.errors.offset", b"-1"),
        )
        facts = read(message(*headers, value=None))
        assert (facts.has_record, facts.origin, facts.problems) == (False, None, ())
        assert (facts.root_class, facts.root_message) == ("java.lang.IllegalStateException", "late")

    @pytest.mark.parametrize(
        ("frame", "stage"),
        [
            (
                "org.apache.kafka.streams.processor.internals.RecordDeserializer.deserialize(R.java:1)",
                "DESERIALIZATION",
            ),
            ("org.apache.kafka.streams.processor.internals.ProcessorNode.process(P.java:1)", "PROCESSING"),
            ("org.apache.kafka.streams.processor.internals.RecordCollectorImpl.send(R.java:1)", "PRODUCTION"),
            ("com.shop.Main.main(Main.java:1)", "UNKNOWN"),
        ],
    )
    def test_the_stage_is_guessed_from_the_stack_trace(self, frame: str, stage: str) -> None:
        trace = f"a.B: c\n\tat {frame}\n".encode()
        facts = read(message(("__streams.errors.exception", b"a.B: c"), ("__streams.errors.stacktrace", trace)))
        assert facts.stage == stage
        assert [note.value for note in facts.notes if note.guessed] == [stage] * (stage != "UNKNOWN")


NUMBERS = [
    (letters.SPRING, "kafka_dlt-original-partition", "partition"),
    (letters.SPRING, "kafka_dlt-original-offset", "offset"),
    (letters.SPRING, "kafka_dlt-original-timestamp", "timestamp"),
    (letters.CLOUD_STREAM, "x-original-offset", "offset"),
    (letters.STREAMS, "__streams.errors.partition", "partition"),
    (letters.SMALLRYE, "dead-letter-offset", "offset"),
    (letters.SHARE_GROUP, "__dlq.errors.offset", "offset"),
    (letters.KARAFKA, "source_partition", "partition"),
    (letters.CONNECT, "__connect.errors.offset", "offset"),
    (letters.JAVA_HEADERS, "dlq.original.offset", "offset"),
]


@pytest.mark.parametrize("bad", [b"", b"x", b"1e3", b"\xff\xff\xff\xff", int8(-1), b"9" * 30, b"1 2", b"\0" * 5])
@pytest.mark.parametrize(("letter", "header", "part"), NUMBERS)
def test_a_header_that_is_no_number_is_a_problem_and_never_a_wrong_number(
    letter: RawRecord, header: str, part: str, bad: bytes
) -> None:
    headers = tuple((name, bad if name == header else value) for name, value in letter.headers)
    facts = read(replace(letter, headers=headers))
    assert facts.dialect == read(letter).dialect
    assert facts.origin is not None
    assert getattr(facts.origin, part) is None
    (problem,) = facts.problems
    assert header in problem


@pytest.mark.parametrize(("letter", "header", "part"), NUMBERS)
def test_a_number_that_is_null_is_unknown(letter: RawRecord, header: str, part: str) -> None:
    headers = tuple((name, None if name == header else value) for name, value in letter.headers)
    facts = read(replace(letter, headers=headers))
    assert (facts.origin and getattr(facts.origin, part), facts.problems) == (None, ())


MARKERS = sorted(marker for dialect in HEADER_DIALECTS for marker in dialect.markers)
OWN = sorted({name for value in filter(is_message, vars(letters).values()) for name, _ in value.headers})


@given(
    st.lists(st.tuples(st.sampled_from(OWN) | st.text(max_size=5), st.none() | st.binary(max_size=12)), max_size=12),
    st.none() | st.binary(max_size=30),
)
def test_no_headers_are_too_strange(headers: list[tuple[str, bytes | None]], value: bytes | None) -> None:
    facts = read(message(*headers, value=value))
    assert isinstance(facts, DeadLetterFacts)
    if facts.origin is not None:
        assert facts.origin.topic
        assert all(part is None or part >= 0 for part in (facts.origin.partition, facts.origin.offset))


def test_five_thousand_headers_are_read_in_one_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    """The work grows with the number of headers, not with its square."""
    many = tuple((f"h{n}", b"x") for n in range(5_000))
    repeated = tuple(header for _ in range(1_000) for header in letters.SPRING.headers[:5])
    for headers in ((*many, *letters.SPRING.headers), (*letters.SPRING.headers, *many, *repeated)):
        counted = CountedHeaders(headers)
        assert dialects.read(replace(letters.SPRING, headers=counted)).origin == TIMED
        assert counted.passes <= 3


class CountedHeaders(tuple[Any, ...]):  # noqa: SLOT001 # it counts, so it has state
    """Headers that count how often they are walked through."""

    passes = 0

    def __iter__(self) -> Any:
        self.passes += 1
        return super().__iter__()


def test_a_dead_letter_without_a_word_about_the_error_is_unreadable() -> None:
    assert facts_of(message(("trace", b"1"), value=VALUE), "dialect", "readable") == ("unreadable", False)
