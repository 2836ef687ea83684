"""Configuration to objects: the only place that knows every class. Runs in the driver and in Spark's workers."""

from __future__ import annotations

import gc
import importlib
import random
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from engine.config.connector import ConnectorConfig, read_connector
from engine.config.options import Option, Problem, nearest
from engine.config.worker import WorkerConfig, parse_worker
from engine.errors import ConfigError, EngineError
from engine.kafka.admin import KafkaAdmin
from engine.kafka.clock import WorkerClock
from engine.kafka.consumer import KafkaConsumer
from engine.kafka.producer import KafkaProducer
from engine.kafka.settings import (
    QUICK,
    admin_settings,
    client_problems,
    consumer_settings,
    producer_settings,
    unacknowledged_settings,
)
from engine.kafka.sinks import file, sql
from engine.pipeline.chain import sink_steps
from engine.pipeline.claim import ConfigTail, claim_positions, denied
from engine.pipeline.commit import DurableThenCommit
from engine.pipeline.guard import Guard, Reporter
from engine.pipeline.lease import Deadline, OpenTask, run_tasks, unopened
from engine.pipeline.outcome import Interrupted
from engine.pipeline.sink_task import SinkTask
from engine.pipeline.task_state import TaskState
from engine.policy.retry import RetryPolicy
from engine.policy.tolerance import TolerancePolicy
from engine.ports import Lease, Sink, TaskConfig, TaskReport
from engine.record.stage import Stage, StageType
from engine.reporting.deadletter import DeadLetterReporter
from engine.reporting.log import LogReporter
from engine.reporting.replayed import OUTCOME_TOPIC_CONFIG, ReplayReporter
from engine.steps.registry import build_converter, build_transform, step_problems
from engine.steps.stages import sink_stages

DEFAULT_MAX_MESSAGE_BYTES = 1_000_000
POOLED_PATIENCE_MS = 50  # a longer wait would hold up the other tasks of the lease
JITTER = random.Random().random  # noqa: S311, spreads retries; no secret


@dataclass(frozen=True, slots=True)
class SinkKind:
    """A class of sink connectors: how to make one, and its options (None: not known)."""

    factory: Callable[[], Sink]
    options: tuple[Option, ...] | None


@dataclass(frozen=True, slots=True)
class ConnectorPlan:
    """A connector that can be run: its parsed options, its stages, and what is legal but surely not meant."""

    config: ConnectorConfig
    stages: tuple[Stage, ...]
    sink: SinkKind
    warnings: tuple[Problem, ...]
    delivery: str = DurableThenCommit.delivery


_FILE = SinkKind(file.FileSink, file.OPTIONS)
_SQL = SinkKind(sql.SqlSink, sql.OPTIONS)
SINKS: dict[str, SinkKind] = {
    "FileStreamSink": _FILE,
    "FileStreamSinkConnector": _FILE,
    "org.apache.kafka.connect.file.FileStreamSinkConnector": _FILE,
    "SqlSink": _SQL,
}


def validate(props: Mapping[str, str], worker: WorkerConfig) -> ConnectorPlan:
    """The connector's plan. Raises ConfigError with every problem at once."""
    kind, problems = _sink_kind(props.get("connector.class", ""))
    config, found = read_connector(props, worker, None if kind is None else kind.options)
    problems = [*found, *problems, *step_problems(config), *_client_problems(config)]
    if problems or kind is None:
        raise ConfigError(tuple(problems))
    secrets = {option.name for option in kind.options or () if option.secret}
    return ConnectorPlan(config, _without_headers(sink_stages(config, secrets), config), kind, config.warnings)


def run_lease(lease: Lease) -> tuple[TaskReport, ...]:
    """Run the lease here and now; one report a task. Raises only what is a bug or kills the worker."""
    gc.collect()
    gc.freeze()
    gc.disable()  # each commit collects: a collection in the middle of a chunk costs a factor of four
    try:
        worker = parse_worker(lease.worker)
        try:
            tail = _config_tail(worker)
        except EngineError as error:
            return unopened(lease.tasks, error, WorkerClock())
        deadline = Deadline(tail.clock, lease.budget_ms)

        def open_task(task: TaskConfig) -> OpenTask:
            def must_stop() -> bool:
                return denied(tail.poll(), task, lease.leader_epoch) is not None

            alone = len(lease.tasks) == 1
            return _open(task, worker, WorkerClock(must_stop), lambda now: _patience(deadline.at_ms - now, alone=alone))

        return run_tasks(lease, tail, tail.clock, open_task, deadline)
    finally:
        gc.enable()


_tails: dict[tuple[str, str], ConfigTail] = {}


def _config_tail(worker: WorkerConfig) -> ConfigTail:
    """This process's reader of the config topic, at its end; it is kept, because it only ever goes forward."""
    key = (worker.bootstrap_servers, worker.config_topic)
    tail = _tails.pop(key, None)
    if tail is None:
        group = f"connect-{worker.group_id}-config"
        consumer = KafkaConsumer(consumer_settings(group, _base(worker), worker.consumer, {"fetch.min.bytes": "1"}))
        tail = ConfigTail(consumer, worker.config_topic, WorkerClock())
    tail.read_to_end()
    _tails[key] = tail
    return tail


def _open(task: TaskConfig, worker: WorkerConfig, clock: WorkerClock, patience_ms: Callable[[int], int]) -> OpenTask:
    plan = validate(task.config, worker)
    config, errors = plan.config, plan.config.errors
    closing = ExitStack()
    base = _base(worker)
    consumer = KafkaConsumer(consumer_settings(f"connect-{config.name}", base, worker.consumer, config.consumer))
    closing.callback(consumer.close)
    try:
        positions, state = claim_positions(task, plan.stages, consumer)
        retry = RetryPolicy(errors.retry_limit, errors.retry_delay_max_ms, errors.retry_timeout_ms)
        tolerance = TolerancePolicy(
            errors.tolerance_limit, errors.tolerance_rate_limit, errors.tolerance_rate_duration_ms
        )
        reporters: list[Reporter] = []
        if errors.log_enable:
            log = LogReporter(include_configs=errors.log_include_configs, include_messages=errors.log_include_messages)
            reporters.append(log)
        letters = _dead_letters(plan, worker, state, retry, clock) if errors.dlq_enable else None
        if letters is not None:
            closing.callback(letters.producer.close)
        replayed = _replayed(task, worker, clock)
        closing.callback(replayed.close)
        sink = plan.sink.factory()
        sink.start(config.properties)
        closing.callback(sink.stop)
        guard = Guard(
            connector=config.name,
            stages=plan.stages,
            state=state,
            retry=retry,
            tolerance=tolerance,
            retry_on=errors.retry_on,
            reporters=reporters,
            dead_letters=letters,
            clock=clock,
            jitter=JITTER,
            patience_ms=patience_ms,
        )
        commit = DurableThenCommit(sink.flush, lambda: _flush(letters), lambda: _flush(replayed), consumer)
        sink_task = SinkTask(
            steps=_steps(plan),
            sink=sink,
            guard=guard,
            consumer=consumer,
            replayed=replayed,
            commit=commit,
            state=state,
            committed=positions,
            clock=clock,
            commit_interval_ms=worker.flush_interval_ms,
        )
        consumer.assign(positions)
    except BaseException:
        closing.close()
        raise
    return OpenTask(task, sink_task, tolerance, closing.close)


def _steps(plan: ConnectorPlan) -> tuple[Any, ...]:
    config = plan.config
    has_headers = any(stage.type is StageType.HEADER_CONVERTER for stage in plan.stages)
    return sink_steps(
        build_converter(config.key_converter, is_key=True),
        build_converter(config.value_converter, is_key=False),
        build_converter(config.header_converter, is_key=False) if has_headers else None,
        [build_transform(step, config.predicates) for step in config.transforms],
    )


def _dead_letters(
    plan: ConnectorPlan, worker: WorkerConfig, state: TaskState, retry: RetryPolicy, clock: WorkerClock
) -> DeadLetterReporter:
    """The reporter, its topic made if need be, its size limit that of the topic."""
    config, errors = plan.config, plan.config.errors
    elsewhere = "bootstrap.servers" in errors.dlq_producer
    layers = (_base(worker), worker.producer, config.producer, errors.dlq_producer)
    admin = KafkaAdmin(admin_settings(_base(worker), worker.admin, _connection(errors.dlq_producer)))
    admin.create_topic(errors.dlq_topic, errors.dlq_partitions, errors.dlq_replication_factor)
    max_bytes = admin.max_message_bytes(errors.dlq_topic) or DEFAULT_MAX_MESSAGE_BYTES
    best_effort = elsewhere and errors.dlq_producer.get("acks") == "0"
    settings = unacknowledged_settings(*layers) if best_effort else producer_settings(*layers)
    settings.setdefault("message.max.bytes", str(max_bytes))
    return DeadLetterReporter(
        producer=KafkaProducer(settings),
        topic=errors.dlq_topic,
        include_configs=errors.dlq_include_configs,
        include_messages=errors.dlq_include_messages,
        context_headers=errors.dlq_context_headers,
        max_bytes=min(max_bytes, int(settings["message.max.bytes"])),
        metrics=state.metrics,
        retry=retry,
        clock=clock,
        jitter=JITTER,
    )


def _replayed(task: TaskConfig, worker: WorkerConfig, clock: WorkerClock) -> ReplayReporter:
    """The reporter of replayed records; its producer and topic are made when the first one waits."""

    def open_producer() -> KafkaProducer:
        admin = KafkaAdmin(admin_settings(_base(worker), worker.admin))
        admin.create_topic(
            worker.outcome_topic, worker.outcome_partitions, worker.outcome_replication_factor, OUTCOME_TOPIC_CONFIG
        )
        return KafkaProducer(producer_settings(_base(worker), worker.producer, QUICK))

    return ReplayReporter(
        open_producer=open_producer,
        topic=worker.outcome_topic,
        connector=task.connector,
        task=task.task,
        clock=clock,
        jitter=JITTER,
    )


def _flush(reporter: DeadLetterReporter | ReplayReporter | None) -> Interrupted | None:
    return None if reporter is None or reporter.flush() else Interrupted(None)


def _sink_kind(name: str) -> tuple[SinkKind | None, list[Problem]]:
    """The class of the connector; a dotted name may be a sink of the user's own, with an `OPTIONS` table."""
    if name in SINKS:
        return SINKS[name], []
    module, _, attribute = name.replace(":", ".").rpartition(".")
    text = "is no known class"
    if module and not module.startswith("org.apache."):
        try:
            factory = getattr(importlib.import_module(module), attribute)
        except Exception as error:  # noqa: BLE001, importing runs code of the user's own
            text = f"can't be loaded: {error}"
        else:
            return SinkKind(factory, getattr(factory, "OPTIONS", None)), []
    if not name:
        return None, []  # its absence is reported with the other options
    return None, [("connector.class", name, text + nearest(name, list(SINKS)))]


def _client_problems(config: ConnectorConfig) -> list[Problem]:
    return [
        *client_problems("consumer.override.", config.consumer),
        *client_problems("producer.override.", config.producer),
        *client_problems("errors.deadletterqueue.producer.", config.errors.dlq_producer),
    ]


def _without_headers(stages: Sequence[Stage], config: ConnectorConfig) -> tuple[Stage, ...]:
    """The stages as they are run; bytes headers need no converter."""
    if not config.header_converter.class_name.endswith("ByteArrayConverter"):
        return tuple(stages)
    return tuple(stage for stage in stages if stage.type is not StageType.HEADER_CONVERTER)


def _base(worker: WorkerConfig) -> dict[str, str]:
    return {"bootstrap.servers": worker.bootstrap_servers, **worker.client}


def _connection(options: Mapping[str, str]) -> dict[str, str]:
    names = ("bootstrap.servers", "security.protocol")
    return {name: value for name, value in options.items() if name in names or name.startswith(("sasl.", "ssl."))}


def _patience(left_ms: int, *, alone: bool) -> int:
    return left_ms if alone else min(left_ms, POOLED_PATIENCE_MS)
