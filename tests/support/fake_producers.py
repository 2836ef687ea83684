"""The in-memory Kafka's producers, plain and transactional."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum

from engine.errors import (
    AbortableError,
    CommitFailed,
    EngineError,
    FailureType,
    FatalError,
    GenerationFenced,
    ProduceFailed,
    RetriableError,
)
from engine.ports import Committed, Producer, Row
from engine.record.record import Headers, TopicPartition
from tests.support.fake_broker import Answer, Broker, Ending, Identity, InvalidMapping

Queued = tuple[bytes | None, bytes | None, Headers, int | None]  # key, value, headers, timestamp


class FakeProducer(Producer):
    """The Producer port: idempotent while a record is being sent, no longer once it was given up."""

    def __init__(self, kafka: Broker, max_request_bytes: int = 1_000_000_000) -> None:
        self._kafka = kafka
        self._max_request_bytes = max_request_bytes
        self._queue: list[tuple[int, TopicPartition, Queued]] = []
        self._refused: list[tuple[int, str]] = []
        self._count = 0

    def produce_all(self, rows: Sequence[Row]) -> None:
        for topic, key, value, headers, timestamp, partition in rows:
            ordinal, self._count = self._count, self._count + 1
            if len(key or b"") + len(value or b"") > self._max_request_bytes:
                self._refused.append((ordinal, topic))
                continue
            at = self._kafka.choose(topic, key) if partition is None else TopicPartition(topic, partition)
            self._queue.append((ordinal, at, (key, value, headers, timestamp)))

    def flush(self) -> None:
        """One request for each partition, in the order in which they were first written to."""
        failed: dict[int, tuple[str, FailureType]] = {}
        for at, rows in self._batches().items():
            try:
                self._send(at, [row for _, row in rows])
            except ProduceFailed as error:
                failed |= {ordinal: (error.failures[0][1], error.type) for ordinal, _ in rows}
            except RetriableError as error:
                failed |= {ordinal: (str(error), FailureType.DELIVERY_FAILED) for ordinal, _ in rows}
        self._raise(failed)

    def close(self) -> None:
        self._queue = []

    def _send(self, at: TopicPartition, batch: list[Queued]) -> None:
        self._kafka.request("produce", lambda: self._kafka.produce(None, at, batch))

    def _batches(self) -> dict[TopicPartition, list[tuple[int, Queued]]]:
        batches: dict[TopicPartition, list[tuple[int, Queued]]] = {}
        for ordinal, at, row in self._queue:
            batches.setdefault(at, []).append((ordinal, row))
        return batches

    def _raise(self, failed: Mapping[int, tuple[str, FailureType]]) -> None:
        """ProduceFailed for what was refused here or there; the next flush begins anew."""
        topics = {ordinal: at.topic for ordinal, at, _ in self._queue} | dict(self._refused)
        reasons = {**failed, **{at: ("MSG_SIZE_TOO_LARGE", FailureType.MESSAGE_REJECTED) for at, _ in self._refused}}
        self._queue, self._refused, self._count = [], [], 0
        if reasons:
            ordinals = tuple(sorted(reasons))
            kinds = {kind for _, kind in reasons.values()}
            rejected = FailureType.MESSAGE_REJECTED in kinds
            rows = tuple((topics[at], reasons[at][0]) for at in ordinals)
            raise ProduceFailed(rows, ordinals, FailureType.MESSAGE_REJECTED if rejected else min(kinds))


class Step(StrEnum):
    """Where a transactional client stands."""

    NEW = "NEW"
    READY = "READY"
    OPEN = "OPEN"
    BROKEN = "BROKEN"  # only abort helps
    DEAD = "DEAD"


class FakeTransactional(FakeProducer):
    """The TransactionalProducer port."""

    def __init__(self, kafka: Broker, transactional_id: str, max_request_bytes: int = 1_000_000_000) -> None:
        super().__init__(kafka, max_request_bytes)
        self.transactional_id = transactional_id
        self._identity: Identity | None = None
        self._step = Step.NEW
        self._unanswered: str | None = None  # the call that alone may be repeated
        self._is_known = False  # does the broker know of the open transaction?
        self._loss: EngineError | None = None  # what broke the open transaction
        self._gap = False  # after a rejected batch librdkafka leaves its sequence numbers out in the next transaction
        self._death: EngineError | None = None

    def init(self) -> None:
        self._enter("init", Step.NEW)
        self._identity = self._ask("init", lambda: self._kafka.init(self.transactional_id))
        self._step = Step.READY

    def begin(self) -> None:
        self._enter("begin", Step.READY)
        self._step, self._is_known, self._loss = Step.OPEN, False, None
        self._queue, self._refused, self._count = [], [], 0

    def produce_all(self, rows: Sequence[Row]) -> None:
        self._enter("produce", Step.OPEN, Step.BROKEN)
        super().produce_all(rows)

    def flush(self) -> None:
        """ProduceFailed only for records that the client itself refused; AbortableError where one was lost."""
        self._enter("flush", Step.READY, Step.OPEN, Step.BROKEN)
        for at, rows in self._batches().items():
            if self._step is Step.BROKEN:
                break
            if self._gap:
                self._lose(AbortableError("OUT_OF_ORDER_SEQUENCE_NUMBER"))
                break
            try:
                self._send(at, [row for _, row in rows])
            except (ProduceFailed, RetriableError) as error:
                self._lose(_of_batch(at, [ordinal for ordinal, _ in rows], error))
            except AbortableError as error:
                self._lose(error)
        if self._step is Step.BROKEN:
            self._queue, self._refused, self._count = [], [], 0
        self._refuse_broken()
        self._raise({})

    def send_offsets(self, offsets: Mapping[TopicPartition, Committed], group: str) -> None:
        self._enter("send_offsets", Step.OPEN, Step.BROKEN)
        self._refuse_broken()
        kept = dict(offsets)
        self._is_known = True
        self._guarded("send_offsets", lambda: self._kafka.add_offsets(self._who(), kept, group))

    def commit(self) -> None:
        """CommitFailed: it is to be aborted."""
        self._enter("commit", Step.OPEN, Step.BROKEN)
        if self._unanswered is None:
            try:
                self.flush()
            except (ProduceFailed, AbortableError) as error:
                self._lose(error)
                raise CommitFailed(str(error)) from error
        self._end("commit", Ending.COMMIT)

    def abort(self) -> None:
        self._enter("abort", Step.OPEN, Step.BROKEN)
        self._queue, self._refused, self._count = [], [], 0
        if isinstance(self._loss, InvalidMapping):
            self._identity = self._guarded("init", lambda: self._kafka.init_again(self._who()))
            self._is_known = False
        self._end("abort", Ending.ABORT)
        self._gap = isinstance(self._loss, ProduceFailed)

    def close(self) -> None:
        """Nothing is asked of the broker: an open transaction stays."""
        super().close()
        self._step, self._death = Step.DEAD, FatalError("the client is closed")

    def _end(self, call: str, ending: Ending) -> None:
        if self._is_known:
            self._ask(call, lambda: self._kafka.end(self._who(), ending))
        self._step = Step.READY

    def _send(self, at: TopicPartition, batch: list[Queued]) -> None:
        self._is_known = True
        self._guarded("produce", lambda: self._kafka.produce(self._who(), at, batch))

    def _ask(self, call: str, effect: Callable[[], Answer]) -> Answer:
        """A request that is to be asked for again, and no other, when its answer is lost."""
        self._unanswered = call
        answer = self._guarded("init" if call == "init" else "end", effect)
        self._unanswered = None
        return answer

    def _guarded(self, request: str, effect: Callable[[], Answer]) -> Answer:
        try:
            return self._kafka.request(request, effect)
        except (GenerationFenced, FatalError) as error:
            self._step, self._death = Step.DEAD, error
            raise
        except InvalidMapping as error:
            self._lose(error)
            raise

    def _enter(self, call: str, *steps: Step) -> None:
        """May it be called now?"""
        if self._step is Step.DEAD and self._death is not None:
            raise self._death
        assert self._step in steps, f"{call} in {self._step}"
        if self._unanswered not in {None, call}:
            raise FatalError(f"_CONFLICT: {call} while {self._unanswered} has no answer")

    def _lose(self, error: EngineError) -> None:
        self._step, self._loss = Step.BROKEN, self._loss or error

    def _refuse_broken(self) -> None:
        if self._step is Step.BROKEN:
            raise AbortableError("the transaction has lost records") from self._loss

    def _who(self) -> Identity:
        assert self._identity is not None
        return self._identity


def _of_batch(at: TopicPartition, ordinals: list[int], error: EngineError) -> ProduceFailed:
    """The failure of one batch, as its records' delivery reports tell it."""
    rejected = isinstance(error, ProduceFailed)
    reason = error.failures[0][1] if isinstance(error, ProduceFailed) else str(error)
    kind = FailureType.MESSAGE_REJECTED if rejected else FailureType.DELIVERY_FAILED
    return ProduceFailed(((at.topic, reason),) * len(ordinals), tuple(ordinals), kind)


def _of(at: TopicPartition, rows: list[tuple[int, Queued]], reason: str, kind: FailureType) -> ProduceFailed:
    """The failure of a whole batch."""
    return ProduceFailed(((at.topic, reason),) * len(rows), tuple(ordinal for ordinal, _ in rows), kind)
