"""A lease as a Spark worker runs it, over the in-memory Kafka: every part is the engine's own but clients and clock."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from typing import Any

from engine.connectors.kafka.sink import KafkaSink
from engine.errors import ConversionError, EngineError
from engine.exactly_once.buffered import BufferedProducer
from engine.exactly_once.transaction import Transaction
from engine.pipeline.chain import sink_steps
from engine.pipeline.claim import ConfigTail, claim_positions
from engine.pipeline.commit import TransactionalCommit, TransactionalStore, flush_letters
from engine.pipeline.guard import Guard
from engine.pipeline.lease import Deadline, check_owned, must_stop, run_tasks
from engine.pipeline.opened_task import OpenTask, report_all_unopened
from engine.pipeline.outcome import Interrupted
from engine.pipeline.sink_task import SinkTask
from engine.policy.retry import RetryPolicy
from engine.policy.tolerance import TolerancePolicy
from engine.record.record import RawRecord
from engine.record.stage import Stage, StageType
from engine.reporting.replay_outcomes import ReplayReporter
from engine.worker_messages import Lease, TaskConfig, TaskReport
from tests.engine.pipeline.rig import Bytes, letter_reporter
from tests.support.fake_broker import Broker
from tests.support.fake_kafka import FakeConsumer, FakeKafka

CONFIGS, OUTPUT, LETTERS = "configs", "out", "dlq"
CHUNK = 3
COMMIT_INTERVAL_MS = 8
TOLERANCE = TolerancePolicy(-1, -1)
RETRY = RetryPolicy(limit=-1)  # what may pass is waited for: only what is guilty is dead-lettered
STAGES = (
    Stage(StageType.KEY_CONVERTER, "Bytes"),
    Stage(StageType.VALUE_CONVERTER, "NotBad"),
    Stage(StageType.TASK_PUT, "KafkaSink"),
    Stage(StageType.KAFKA_CONSUME, "KafkaConsumer"),
)


def transactional_id(connector: str, task: int) -> str:
    return f"g-{connector}-{task}"


class NotBad(Bytes):
    """Reads everything but what says that it is bad."""

    def to_connect(self, topic: str, data: bytes | None, headers: Any) -> Any:
        if data is not None and data.startswith(b"bad"):
            raise ConversionError("it says so itself")
        return None, data


class SmallChunks(FakeConsumer):
    """Gives a few records a poll, so that a task stops at many places."""

    def __init__(self, kafka: Broker, group: str) -> None:
        super().__init__(kafka, group, committed=True)

    def poll(self, max_records: int, timeout_s: float) -> list[RawRecord]:
        return super().poll(CHUNK, timeout_s)


class LeaseClock:
    """The cluster's clock; a wait is a request to nobody, made again until the time is over or a stop is seen."""

    def __init__(self, now_ms: Callable[[], int], pause: Callable[[str], object], stops: Callable[[], bool]) -> None:
        self.now_ms = now_ms
        self._pause = pause
        self._stops = stops

    def wait(self, ms: int) -> bool:
        end = self.now_ms() + ms
        while self.now_ms() < end:
            self._pause("wait")
            if self._stops():
                return True
        return False


def run_lease(
    lease: Lease, kafka: FakeKafka, now_ms: Callable[[], int], pause: Callable[[str], object]
) -> Sequence[TaskReport]:
    """As engine.assembly.lease has it."""
    clock = LeaseClock(now_ms, pause, lambda: False)
    try:
        tail = ConfigTail(kafka.consumer("tail"), CONFIGS, clock)
        tail.read_to_end()
    except EngineError as error:
        return report_all_unopened(lease.tasks, error, clock)
    deadline = Deadline(clock, lease.budget_ms)

    def open_task(task: TaskConfig, careful: bool) -> OpenTask:
        own = LeaseClock(now_ms, pause, partial(must_stop, lease, tail, task))
        closing = ExitStack()
        try:
            return open_sink(task, kafka, own, partial(check_owned, lease, tail, task), closing, careful=careful)
        except BaseException:  # also an end that a test throws, as the engine does
            closing.close()
            raise

    return run_tasks(lease, tail, clock, lambda task, careful: partial(open_task, task, careful), deadline)


def open_sink(
    config: TaskConfig, kafka: FakeKafka, clock: LeaseClock, admit: Callable[[], None], closing: ExitStack, *,
    careful: bool,
) -> OpenTask:  # fmt: skip
    """As engine.connectors.kafka.task has it."""
    group = f"connect-{config.connector}"
    consumer = SmallChunks(kafka, group)

    def check_all() -> None:
        admit()
        store.check()

    transaction = Transaction(
        lambda: kafka.transactional(transactional_id(config.connector, config.task)), check_all, clock, keeps=careful
    )
    closing.callback(transaction.close)
    transaction.open()
    admit()
    store = TransactionalStore(consumer, transaction, group)
    positions, state = claim_positions(config, STAGES, consumer, store)
    options = {"topic": LETTERS, "include_messages": True, "retry": RETRY, "patience_ms": lambda _: 50}
    letters = letter_reporter(BufferedProducer(transaction), state, clock, **options)
    guard = Guard(
        connector=config.connector, stages=STAGES, state=state, retry=RETRY, tolerance=TOLERANCE,
        retry_on="retriable", reporters=[], dead_letters=letters, clock=clock, jitter=lambda: 1.0,
        patience_ms=lambda _: 50, handlers={},
    )  # fmt: skip
    replayed = ReplayReporter(
        open_producer=lambda: BufferedProducer(transaction), topic="outcomes", connector=config.connector,
        task=config.task, clock=clock, jitter=lambda: 1.0,
    )  # fmt: skip
    task = SinkTask(
        steps=sink_steps(Bytes(), NotBad(), None, []),
        sink=KafkaSink(transaction, OUTPUT, lambda topic: None, keeps_partition=True, flushes=careful),
        guard=guard,
        consumer=consumer,
        replayed=replayed,
        commit=TransactionalCommit(
            transaction,
            lambda: flush_letters(letters, state),
            lambda: None if replayed.flush() else Interrupted(None),
            group,
        ),
        state=state,
        committed=positions,
        clock=clock,
        commit_interval_ms=COMMIT_INTERVAL_MS,
    )
    consumer.assign(positions)
    return OpenTask(config, task, TOLERANCE, closing.close, careful)
