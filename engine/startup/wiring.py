"""The parts of a driver put together: the examination of connectors, and the herder."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple
from urllib.parse import urlsplit

from engine.assembly.driver import (
    FileSourceOffsets,
    TopicSourceOffsets,
    TransactionLimit,
    fence_tasks,
    leader_producer,
    open_election,
    task_producer,
)
from engine.assembly.task_discovery import watch_of
from engine.assembly.validation import check_task_count, secrets_of, validate
from engine.config.client_names import herder_group, leader_id
from engine.config.rest import bracketed
from engine.config.topic import CONFIG_TOPIC_CONFIG, OFFSETS_TOPIC_CONFIG, TOPIC_CONFIG, TargetState
from engine.config.worker import WorkerConfig
from engine.connectors.mirror.options import SOURCE, read_mirror
from engine.herder.config_topic import Connectors
from engine.herder.herder import Herder
from engine.herder.leadership import LeaderProducer, Leadership
from engine.herder.positions import GroupOffsets
from engine.herder.snapshot import ConnectorFacts
from engine.herder.state import HerderSettings
from engine.herder.status import StatusTopic
from engine.herder.topic_log import TopicLog
from engine.kafka.admin import KafkaAdmin
from engine.kafka.client_options import QUICK, admin_settings, consumer_settings, producer_settings
from engine.kafka.consumer import TopicReader
from engine.kafka.producer import KafkaProducer
from engine.ports import Election, Producer, SourceOffsets, TaskRunner
from engine.reporting.log_levels import LogLevels
from engine.reporting.replay_outcomes import OUTCOME_TOPIC_CONFIG
from engine.standalone.directory import CONFIG, STATUS
from engine.standalone.election import LoneDriver
from engine.standalone.file_topic import FileTopicReader, FileTopicTransactions, FileTopicWriter
from engine.tasks.clients import COMMITTED_ONLY
from engine.tasks.plan import ConnectorPlan
from engine.tasks.transaction_options import check_broker_limit
from engine.worker_messages import Delivery


def examine_connector(
    properties: Mapping[str, str], worker: WorkerConfig, transaction_max_ms: Callable[[], int | None] = lambda: None
) -> ConnectorFacts:
    """Return the facts that the herder needs about a connector. Raises ConfigError.

    `transaction_max_ms` returns the brokers' limit of transaction time-outs, or None.
    """
    plan = validate(properties, worker)
    check_task_count(plan)
    if plan.delivery is Delivery.EXACTLY_ONCE:
        check_broker_limit(plan.config, worker, transaction_max_ms)
    return ConnectorFacts(
        kind=plan.known.kind,
        delivery=plan.delivery,
        dead_letters=plan.dead_letters,
        stages=plan.guarded_stages,
        tolerance=plan.tolerance,
        task_configs=plan.task_configs,
        secrets=plan.secrets,
        warnings=plan.warnings,
        keeps_positions_here=_keeps_positions_here(plan),
        watch=watch_of(plan, worker),
        task_class=plan.known.task_class_name,
    )


def build_herder(
    worker: WorkerConfig,
    runner: TaskRunner,
    url: str,
    initial: Sequence[Mapping[str, str]] = (),
    initial_states: Mapping[str, TargetState] = MappingProxyType({}),
    log_levels: LogLevels | None = None,
) -> Herder:
    """Return the herder of a driver whose REST API is at `url`.

    The brokers are not contacted yet.
    """
    admin = KafkaAdmin(admin_settings(_client(worker), worker.admin))
    stores = _topics(worker, admin) if worker.run_directory is None else _files(worker, Path(worker.run_directory))
    worker_id = urlsplit(url).netloc if worker.rest.advertised_host else worker.rest.listeners[0].address
    connectors = Connectors(stores.config, worker_id, url)
    settings = HerderSettings(
        slots=worker.slots,
        budget_ms=worker.lease_budget_ms,
        graceful_ms=worker.graceful_timeout_ms,
        worker=worker.lease_properties,
    )
    return Herder(
        connectors=connectors,
        leadership=Leadership(stores.election, stores.leader, connectors, settings.silent_ms),
        status=StatusTopic(stores.status),
        offsets=GroupOffsets(
            admin,
            lambda group: _reader(worker, group),
            lambda properties, task: task_producer(properties, task, worker),
        ),
        sources=stores.sources,
        admin=admin,
        runner=runner,
        examine=partial(examine_connector, worker=worker, transaction_max_ms=TransactionLimit(worker)),
        fence=lambda properties, tasks: fence_tasks(properties, tasks, worker),
        settings=settings,
        worker_id=worker_id,
        now_ms=lambda: time.time_ns() // 1_000_000,
        prepare=stores.prepare,
        retention_ms=admin.offsets_retention_ms,
        initial=initial,
        initial_states=initial_states,
        secrets=partial(secrets_of, worker=worker),
        log_levels=log_levels,
    )


class _Stores(NamedTuple):
    """The stores of a driver, and its election. `prepare` creates what is missing."""

    config: TopicLog
    leader: LeaderProducer
    status: TopicLog
    sources: SourceOffsets
    election: Election
    prepare: Callable[[], None]


def _topics(worker: WorkerConfig, admin: KafkaAdmin) -> _Stores:
    """Return stores in topics, for a driver of a cluster."""

    def prepare() -> None:
        admin.create_topic(worker.config_topic, 1, worker.config_replication_factor, CONFIG_TOPIC_CONFIG)
        admin.create_topic(
            worker.status_topic, worker.status_partitions, worker.status_replication_factor, TOPIC_CONFIG
        )
        admin.create_topic(
            worker.offset_topic, worker.offset_partitions, worker.offset_replication_factor, OFFSETS_TOPIC_CONFIG
        )
        admin.create_topic(
            worker.outcome_topic, worker.outcome_partitions, worker.outcome_replication_factor, OUTCOME_TOPIC_CONFIG
        )

    def topic_log(topic: str, producer: Producer) -> TopicLog:
        return TopicLog(topic, _reader(worker, herder_group(worker.group_id)), producer)

    leader = LeaderProducer(lambda: leader_producer(leader_id(worker.group_id), worker))
    plain = KafkaProducer(producer_settings(_client(worker), worker.producer, QUICK))
    return _Stores(
        topic_log(worker.config_topic, leader),
        leader,
        topic_log(worker.status_topic, plain),
        TopicSourceOffsets(worker),
        open_election(worker),
        prepare,
    )


def _files(worker: WorkerConfig, directory: Path) -> _Stores:
    """Return stores in files, for a standalone driver. Nothing is written to Kafka before a connector does it."""
    config, status = directory / CONFIG, directory / STATUS
    leader = LeaderProducer(lambda: FileTopicTransactions(config))
    return _Stores(
        TopicLog(worker.config_topic, FileTopicReader(config), leader),
        leader,
        TopicLog(worker.status_topic, FileTopicReader(status), FileTopicWriter(status)),
        FileSourceOffsets(worker),
        LoneDriver(),
        lambda: None,
    )


def _client(worker: WorkerConfig) -> dict[str, str]:
    return {"bootstrap.servers": worker.bootstrap_servers, **worker.client}


def _reader(worker: WorkerConfig, group: str) -> TopicReader:
    # The leader writes the config topic in transactions, and an aborted record must never count (KIP-618).
    return TopicReader(consumer_settings(group, _client(worker), worker.consumer, COMMITTED_ONLY))


def advertised(worker: WorkerConfig, addresses: Sequence[str]) -> str:
    """Return the URL to which other drivers send clients of this one."""
    rest = worker.rest
    listening = next(url for url in map(urlsplit, addresses) if url.scheme == rest.advertised_scheme)
    host = rest.advertised_host or listening.hostname or ""
    if host in {"0.0.0.0", "::"}:  # noqa: S104, nobody can be sent there
        host = socket.gethostname()
    return f"{rest.advertised_scheme}://{bracketed(host)}:{rest.advertised_port or listening.port}"


def _keeps_positions_here(plan: ConnectorPlan) -> bool:
    """Return whether positions are kept here, not in a database or the mirror's target cluster."""
    elsewhere = plan.known.opener == "sql" and plan.delivery is Delivery.EXACTLY_ONCE
    return not elsewhere and (plan.known.opener != "mirror" or read_mirror(plan.config.properties)[0].type == SOURCE)
