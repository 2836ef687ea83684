"""KIP-1033 as Kafka's own tests assert it, case by case; where we differ from shipped Kafka, the test says so."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from engine.config.connector import parse_connector
from engine.config.exception_handlers import HandlerRole
from engine.errors import FatalError, GenerationFenced, RetriableError, TaskError
from engine.pipeline.outcome import Failed, Interrupted
from engine.policy.handler_calls import NamedHandler
from engine.policy.handlers import Response, SerializationExceptionOrigin
from engine.policy.retry import RetryPolicy
from engine.record.record import RawRecord, Record
from engine.record.stage import Stage, StageType
from engine.reporting.deadletter import connect_headers
from engine.steps.handlers import handler_problems, stage_handlers
from engine.steps.processors import ProcessorContext
from engine.worker_messages import ConnectorKind
from tests.engine.pipeline.rig import rows
from tests.engine.pipeline.stream_rig import NODE, Asked, StreamRig, passing, raising_at
from tests.fakes import BatchingProducer, Clock, Producer

FATAL = "Fatal user code error in {} error callback, test: "


def asked_of(rig: StreamRig, kind: StageType) -> Asked:
    """The handler of the first stage of that kind that has a name, or of any."""
    index = next(index for index, stage in enumerate(rig.stages) if stage.type is kind)
    found: Any = rig.guard.handlers[index].ask
    own: Asked = found.__self__
    return own


def failure(rig: StreamRig) -> str:
    end = rig.run()
    assert isinstance(end, Failed)
    return end.message


def test_bad_bytes_fail_the_task_after_everything_before_them() -> None:
    """S-14, DeadLetterQueueIntegrationTest#shouldSendToDlqAndFailFromDeserializationError;
    S-32, RecordDeserializerTest#shouldBuildDeadLetterQueueRecordsInDefaultDeserializationException.

    Shipped Kafka loses the whole fetched batch; here the records before it are delivered and committed."""
    rig = StreamRig(rows(b"1", b"{", b"3"), {}, {"input": ["out"]})
    assert "deserialization.exception.handler LogAndFailExceptionHandler returned FAIL" in failure(rig)
    assert (rig.written(), rig.reporter.offsets, rig.committed()) == (["1"], [1], 1)


def test_the_headers_of_a_dead_letter_say_where_and_why() -> None:
    """S-16, ExceptionHandlerUtilsTest#checkDeadLetterQueueRecords.

    They have the names that Kafka Connect gives them; the timestamp is the time of the error, as KIP-298 says."""
    rig = StreamRig([RawRecord("t", 3, 2, 1, "CREATE_TIME", b"k", b"2")], {"a": raising_at(2)}, NODE)
    rig.run()
    context, origin = rig.reporter.reports[0]
    found = {name.rpartition("errors.")[2]: value for name, value in connect_headers(context, origin)}
    assert (found["topic"], found["partition"], found["offset"]) == (b"t", b"3", b"2")
    assert (found["exception.class.name"], found["exception.message"]) == (b"ValueError", b"no 2")
    assert context.time_of_error == rig.clock.now_ms()


@pytest.mark.parametrize("error", [GenerationFenced("newer"), TaskError("stop"), FatalError("no client")])
def test_what_means_the_task_is_raised_as_it_is_and_asked_of_nobody(error: Exception) -> None:
    """S-21, ProcessorNodeTest#shouldNotHandleInternalExceptionsThrownDuringProcessing."""

    def stop(_: Any) -> Any:
        raise error

    rig = StreamRig(rows(b"1"), {"a": passing(stop)}, NODE, answers={HandlerRole.PROCESSING: Asked()})
    with pytest.raises(type(error)) as caught:
        rig.run()
    assert caught.value is error
    assert asked_of(rig, StageType.PROCESSOR).seen == []


@pytest.mark.parametrize("bad", [(b"{", b"1"), (b"1", b"{"), (b"{", b"{")])
@pytest.mark.parametrize("answer", [Response.FAIL, Response.CONTINUE, None])
def test_a_record_that_can_not_be_read_is_as_the_deserialization_handler_says(
    bad: tuple[bytes, bytes], answer: Any
) -> None:
    """S-28,
    RecordDeserializerTest#shouldThrowStreamsExceptionWhenDeserializationFailsAndExceptionHandlerRepliesWithFail;
    S-29,
    RecordDeserializerTest#shouldNotThrowStreamsExceptionWhenDeserializationFailsAndExceptionHandlerRepliesWithContinue;
    S-30, RecordDeserializerTest#shouldFailWhenDeserializationFailsAndExceptionHandlerReturnsNull."""
    record = RawRecord("t", 0, 0, 1000, "CREATE_TIME", bad[0], bad[1])
    rig = StreamRig(
        [record], {}, {"input": ["out"]}, answers={HandlerRole.DESERIALIZATION: Asked(answer)}, key_is_json=True
    )
    end = rig.run()
    if answer is Response.CONTINUE:
        assert (end, rig.written(), rig.count("dropped-records-total"), rig.committed()) == (None, [], 1, 1)
    else:
        text = (
            FATAL.format("deserialization")
            if answer is None
            else "deserialization.exception.handler test returned FAIL"
        )
        assert isinstance(end, Failed)
        assert (end.message.startswith(text), rig.committed()) == (True, 0)


class Raising(Producer):
    """A producer whose flush raises one error."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error = error

    def flush(self) -> None:
        raise self.error


@pytest.mark.parametrize("error", [GenerationFenced("a newer producer"), FatalError("TOPIC_AUTHORIZATION_FAILED")])
def test_a_producer_beyond_repair_ends_the_task_whatever_the_handler_says(error: Exception) -> None:
    """S-34, RecordCollectorTest#shouldThrowTaskMigratedExceptionOnSubsequentSendWhenProducerFencedInCallback;
    S-36, RecordCollectorTest#shouldThrowStreamsExceptionOnSubsequentSendIfFatalEvenWithContinueExceptionHandler."""
    asked = Asked()
    rig = StreamRig(
        rows(b"1"), {}, {"input": ["out"]}, producer=Raising(error), answers={HandlerRole.PRODUCTION: asked}
    )
    with pytest.raises(type(error)):
        rig.run()
    assert (asked.seen, rig.committed()) == ([], 0)


def refusing(answers: Mapping[HandlerRole, Any] | None) -> StreamRig:
    """A stream whose broker refuses the second of three records."""
    producer = BatchingProducer(1, lambda value: value == b"2")
    return StreamRig(rows(b"1", b"2", b"3"), {}, {"input": ["out"]}, producer=producer, answers=answers)


@pytest.mark.parametrize("answer", [Response.FAIL, Response.CONTINUE])
def test_a_topic_that_is_not_there_is_as_the_production_handler_says(answer: Response) -> None:
    """S-45,
    RecordCollectorTest#shouldThrowStreamsExceptionOnUnknownTopicOrPartitionExceptionWhenExceptionHandlerReturnsFail;
    S-46,
    RecordCollectorTest#shouldNotThrowTaskCorruptedExceptionOnUnknownTopicOrPartitionExceptionUsingAlwaysContinueExceptionHandler.

    The client calls it retriable, so it is retried first, under errors.retry options."""
    producer = Producer()
    producer.retriable, producer.fail_next = True, [{0}, {0}]
    rig = StreamRig(
        rows(b"1"), {}, {"input": ["out"]}, producer=producer, retry=RetryPolicy(1),
        answers={HandlerRole.PRODUCTION: Asked(answer)},
    )  # fmt: skip
    assert isinstance(rig.run(), Failed) is (answer is Response.FAIL)
    assert (rig.clock.waits, rig.committed()) == ([300], int(answer is Response.CONTINUE))


def serializing(answer: Any, part: str) -> StreamRig:
    """A stream that writes a record whose key or value no converter can write."""

    def spoil(context: ProcessorContext, record: Record) -> None:
        key, value = ("bad", "fine") if part == "KEY" else ("fine", "bad")
        context.forward(Record("", None, None, key, value))

    return StreamRig(rows(b"1"), {"a": spoil}, NODE, answers={HandlerRole.PRODUCTION: Asked(answer)})


@pytest.mark.parametrize("part", ["KEY", "VALUE"])
def test_what_can_not_be_serialized_is_dropped_where_the_handler_continues(part: str) -> None:
    """S-49, RecordCollectorTest#shouldDropRecordExceptionUsingAlwaysContinueExceptionHandler."""
    rig = serializing(Response.CONTINUE, part)
    assert rig.run() is None
    assert (rig.written(), rig.count("dropped-records-total")) == ([], 1)


@pytest.mark.parametrize("part", ["KEY", "VALUE"])
def test_the_handler_is_told_which_part_can_not_be_serialized_and_has_the_sources_bytes(part: str) -> None:
    """S-50,
    RecordCollectorTest#shouldThrowStreamsExceptionWhenKeySerializationFailedAndProductionExceptionHandlerRepliesWithFail;
    S-59, RecordCollectorTest#shouldHaveRawDataDuringExceptionInSerialization."""
    rig = serializing(Response.FAIL, part)
    assert "production.exception.handler test returned FAIL" in failure(rig)
    [(context, (_, origin), _)] = asked_of_serializing(rig)
    assert origin is SerializationExceptionOrigin(part)
    assert (context.source_raw_key, context.source_raw_value) == (b"k", b"1")


def asked_of_serializing(rig: StreamRig) -> list[Any]:
    return next(one for one in rig.answers.values() if one.seen).seen  # type: ignore[no-any-return]  # a list of facts


@pytest.mark.parametrize("answer", [None, ValueError("its own")])
def test_a_production_handler_that_fails_itself_fails_the_task(answer: Any) -> None:
    """S-51,
    RecordCollectorTest#shouldThrowStreamsExceptionWhenSerializationFailedAndProductionExceptionHandlerReturnsNull;
    S-52,
    RecordCollectorTest#shouldThrowStreamsExceptionOnSubsequentFlushIfASendFailsAndProductionExceptionHandlerReturnsNull."""
    for rig in (serializing(answer, "VALUE"), refusing({HandlerRole.PRODUCTION: Asked(answer)})):
        assert failure(rig).startswith(FATAL.format("production"))


class Old:
    """A production handler from before KIP-1033."""

    def __init__(self) -> None:
        self.seen: list[Any] = []

    def handle(self, record: Any, exception: Exception) -> Response:
        self.seen.append(record.value)
        return Response.CONTINUE


def test_a_handler_that_has_only_the_old_method_is_called_by_it() -> None:
    """S-63, RecordCollectorTest#shouldCallOldImplementationExceptionHandler."""
    old = Old()
    rig = refusing({HandlerRole.PRODUCTION: old})
    assert (rig.run(), old.seen) == (None, [b"2"])


def punctuating(error: Exception, answer: Any) -> StreamRig:
    """A stream whose punctuation raises with the first record."""

    def fail(_: int) -> None:
        raise error

    return StreamRig(
        rows(b"1"), {"a": passing()}, NODE, answers={HandlerRole.PROCESSING: Asked(answer)},
        init=lambda context: context.schedule(10, "STREAM_TIME", fail),
    )  # fmt: skip


@pytest.mark.parametrize("error", [TaskError("stop"), GenerationFenced("newer")])
def test_a_punctuation_that_means_the_task_asks_nobody(error: Exception) -> None:
    """S-64, StreamTaskTest#punctuateShouldNotHandleFailProcessingExceptionAndThrowStreamsException;
    S-65, StreamTaskTest#punctuateShouldNotHandleTaskCorruptedExceptionAndThrowItAsIs."""
    rig = punctuating(error, Response.CONTINUE)
    with pytest.raises(TaskError) as caught:
        rig.run()
    assert caught.value is error
    assert asked_of(rig, StageType.PROCESSOR).seen == []


def test_a_punctuations_error_is_let_go_where_the_handler_continues() -> None:
    """S-66, StreamTaskTest#punctuateShouldNotThrowStreamsExceptionWhenProcessingExceptionHandlerRepliesWithContinue."""
    rig = punctuating(ValueError("KABOOM!"), Response.CONTINUE)
    assert (rig.run(), rig.count("dropped-records-total"), rig.committed()) == (None, 1, 1)


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (Response.FAIL, "processing.exception.handler test returned FAIL: PROCESSOR (a) failed on the punctuation"),
        (None, FATAL.format("processing") + "it returned None"),
        (KeyError("its own"), FATAL.format("processing") + "KeyError: 'its own'"),
    ],
)
def test_a_punctuations_error_fails_the_task_where_the_handler_does_not_continue(answer: Any, text: str) -> None:
    """S-67, StreamTaskTest#punctuateShouldThrowStreamsExceptionWhenProcessingExceptionHandlerRepliesWithFail;
    S-68, StreamTaskTest#punctuateShouldThrowStreamsExceptionWhenProcessingExceptionHandlerReturnsNull;
    S-69,
    StreamTaskTest#punctuateShouldThrowFailedProcessingExceptionWhenProcessingExceptionHandlerThrowsAnException.
    """
    message = failure(punctuating(ValueError("KABOOM!"), answer))
    assert message.startswith(text)
    assert message.endswith("failed on the punctuation at 1000: KABOOM!")


def test_what_times_out_is_tried_again_and_its_record_is_not_passed_by() -> None:
    """S-71, StreamTaskTest#shouldThrowOnTimeoutExceptionAndBufferRecordForRetryIfEosDisabled.

    Shipped Kafka keeps the record in the task and throws; here errors.retry options say how often it is tried."""

    def slow(_: Any) -> Any:
        raise RetriableError("timed out")

    clock = Clock(stop_at=1_001_000)
    rig = StreamRig(rows(b"1"), {"a": passing(slow)}, NODE, retry=RetryPolicy(-1), clock=clock)
    assert rig.run() == Interrupted(None)
    assert (rig.clock.waits, rig.committed(), rig.count("records-consumed")) == ([300, 600, 1200], 0, 0)


def config(**props: str) -> Any:
    given = {name.replace("__", "."): value for name, value in props.items()}
    return parse_connector({"name": "c", "connector.class": "stream", "topics": "t", **given})


def handler_at(kind: StageType, **props: str) -> NamedHandler:
    return stage_handlers(config(**props), ConnectorKind.STREAM, (Stage(kind, "X"),))[0]


def test_the_processing_handler_is_log_and_fail_unless_another_class_is_named() -> None:
    """S-73, StreamsConfigTest#shouldGetDefaultValueProcessingExceptionHandler."""
    assert handler_at(StageType.PROCESSOR).name == "LogAndFailProcessingExceptionHandler"
    other = "LogAndContinueProcessingExceptionHandler"
    assert handler_at(StageType.PROCESSOR, processing__exception__handler=other).name == other
    problems, _ = handler_problems(config(processing__exception__handler="java.lang.String"), ConnectorKind.STREAM)
    assert [option for option, *_ in problems] == ["processing.exception.handler"]


def test_the_new_name_of_a_handlers_option_wins_over_the_old_one() -> None:
    """S-74, StreamsConfigTest#shouldUseNewDeserializationExceptionHandlerWhenBothConfigsAreSet."""
    old, new = "LogAndFailExceptionHandler", "LogAndContinueExceptionHandler"
    alone = {"default__deserialization__exception__handler": new}
    both = {"deserialization__exception__handler": new, "default__deserialization__exception__handler": old}
    for props in (alone, both):
        assert handler_at(StageType.VALUE_CONVERTER, **props).name == new


def test_there_is_no_dead_letter_topic_unless_one_is_named() -> None:
    """S-76, StreamsConfigTest#shouldSetDefaultDeadLetterQueue."""
    assert (config().errors.dlq_enable, config().errors.dlq_topic) == (False, "")
