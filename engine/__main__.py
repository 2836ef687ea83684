"""`python -m engine run | validate | mirror-offsets | rehearse`: the command line, its wiring and its exit codes."""

from __future__ import annotations

import argparse
import logging
import os
import signal
import socket
import sys
import time
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

from engine.assembly.discovering import watch_of
from engine.assembly.driver import TopicSourceOffsets, fence_tasks, leader_producer, open_election, task_producer
from engine.assembly.mirror_offsets import GROUP, ORIGINS, copy_offsets
from engine.assembly.plan import ConnectorPlan, secrets_of, validate
from engine.assembly.rehearsal_process import rehearse_here
from engine.assembly.source_offsets import offsets_copier
from engine.config.mirror import SOURCE, read_mirror
from engine.config.properties import load_properties
from engine.config.topic import CONFIG_TOPIC_CONFIG, TOPIC_CONFIG
from engine.config.worker import WorkerConfig, parse_worker
from engine.errors import ConfigError, EngineError
from engine.herder.connectors import Connectors
from engine.herder.herder import Herder
from engine.herder.leadership import LeaderProducer, Leadership, leader_id
from engine.herder.positions import GroupOffsets
from engine.herder.state import Settings
from engine.herder.status import StatusTopic
from engine.herder.topic_log import TopicLog
from engine.herder.view import ConnectorFacts
from engine.kafka.admin import KafkaAdmin
from engine.kafka.consumer import KafkaConsumer
from engine.kafka.producer import KafkaProducer
from engine.kafka.settings import QUICK, admin_settings, consumer_settings, producer_settings
from engine.leases import Delivery
from engine.ports import Producer, TaskRunner
from engine.reporting.replayed import OUTCOME_TOPIC_CONFIG
from engine.rest.app import build_app
from engine.rest.server import RestServer
from engine.spark.runner import SparkRunner

log = logging.getLogger("engine")

OK, FAILED, MISUSED = 0, 1, 2


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code: 0 done, 1 a bad configuration or a failure, 2 a wrong command line."""
    parser = argparse.ArgumentParser(prog="python -m engine", description="Runs Kafka connectors on Spark.")
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="run a worker with its REST API")
    run.add_argument("worker", nargs="?", type=Path, help="worker.properties")
    run.add_argument("--connector", action="append", default=[], type=Path, help="create or change it at the start")
    check = commands.add_parser("validate", help="print every problem of a connector's configuration")
    check.add_argument("connector", type=Path, help="connector.properties")
    check.add_argument("--worker", type=Path, help="worker.properties")
    copy = commands.add_parser("mirror-offsets", help="set the positions of a mirror of type sink that has none")
    copy.add_argument("connector", type=Path, help="connector.properties")
    copy.add_argument("--worker", type=Path, help="worker.properties")
    copy.add_argument("--from", dest="origin", choices=ORIGINS, default=GROUP, help="where they are found")
    copy.add_argument("--group", default="", help="the group of the source; the connector's own when unset")
    copy.add_argument("--dry-run", action="store_true", help="print them, and change nothing")
    commands.add_parser("rehearse", help="take records through a connector's steps, without effect")
    options = parser.parse_args(arguments)
    try:
        if options.command == "rehearse":
            return rehearse_here(sys.stdin.buffer)
        worker = parse_worker(load_properties(options.worker) if options.worker else {}, os.environ)
        if options.command == "validate":
            return _validate(options.connector, worker)
        if options.command == "mirror-offsets":
            return _mirror_offsets(options, worker)
        return _run(worker, {path: load_properties(path) for path in options.connector})
    except ConfigError as error:
        _print_problems(error)
        return FAILED
    except OSError as error:
        print(f"{error.filename}: {error.strerror}", file=sys.stderr)
        return MISUSED


def _validate(path: Path, worker: WorkerConfig) -> int:
    plan = validate(load_properties(path), worker)
    for option, value, message in plan.warnings:
        print(f"warning: {option} = {value}: {message}", file=sys.stderr)
    print(f"{path}: no problems")
    return OK


def _mirror_offsets(options: argparse.Namespace, worker: WorkerConfig) -> int:
    plan = validate(load_properties(options.connector), worker)
    try:
        rows = copy_offsets(plan, worker, options.origin, options.group, dry_run=options.dry_run)
    except EngineError as error:
        if isinstance(error, ConfigError):
            raise
        print(error, file=sys.stderr)
        return FAILED
    for row in rows:
        print(row)
    done = "would be set" if options.dry_run else "set"
    print(f"{sum(row.sets for row in rows)} of {len(rows)} positions {done}")
    return OK


def _print_problems(error: ConfigError) -> None:
    for option, value, message in error.problems:
        print(f"{option}: {message}" if value is None else f"{option} = {value}: {message}", file=sys.stderr)
    count = len(error.problems)
    print(f"{count} problem{'' if count == 1 else 's'}", file=sys.stderr)


def examined(properties: Mapping[str, str], worker: WorkerConfig) -> ConnectorFacts:
    """What the herder has to know of a connector. Raises ConfigError."""
    plan = validate(properties, worker)
    return ConnectorFacts(
        kind=plan.known.kind,
        delivery=plan.delivery,
        dead_letters=plan.dead_letters,
        stages=plan.stages,
        tolerance=plan.tolerance,
        task_configs=plan.task_configs,
        secrets=plan.secrets,
        keeps_positions_here=_keeps_positions_here(plan),
        watch=watch_of(plan, worker),
    )


def _run(worker: WorkerConfig, connectors: Mapping[Path, Mapping[str, str]]) -> int:
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    logging.getLogger("py4j").setLevel(logging.WARNING)

    examine = partial(examined, worker=worker)
    for properties in connectors.values():
        examine(properties)
    rest = RestServer(worker.listeners[0])
    broken: list[BaseException] = []
    # A driver that stands by keeps no executors of a cluster; on its own machine it is ready to lead at once.
    lazy = not worker.spark_master.startswith("local")
    runner = SparkRunner(worker.spark_master, worker.slots, options=worker.spark, lazy=lazy)
    herder = build_herder(worker, runner, rest.address, list(connectors.values()))
    rest.start(build_app(herder, examine))
    log.info("REST API at %s", rest.address)

    def spark_broke(error: BaseException) -> None:
        broken.append(error)
        herder.stop()

    runner.when_broken(spark_broke)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: herder.stop())
    try:
        with offsets_copier(worker, lambda: _led_connectors(herder)):
            herder.run()
    finally:
        rest.stop()
        runner.close()
    if broken:
        log.error("Spark did not start: %s", broken[0])
    return FAILED if broken else OK


def _advertised(worker: WorkerConfig, address: str) -> str:
    """Where other drivers send clients of this one."""
    listening = urlsplit(address)
    host = worker.advertised_host or listening.hostname or ""
    if host in {"0.0.0.0", "::"}:  # noqa: S104, nobody can be sent there
        host = socket.gethostname()
    return f"http://{f'[{host}]' if ':' in host else host}:{worker.advertised_port or listening.port}"


def _keeps_positions_here(plan: ConnectorPlan) -> bool:
    """Not where its positions are kept: in its database, or in the cluster that it mirrors to."""
    elsewhere = plan.known.opener == "sql" and plan.delivery is Delivery.EXACTLY_ONCE
    return not elsewhere and (plan.known.opener != "mirror" or read_mirror(plan.config.properties)[0].type == SOURCE)


def _led_connectors(herder: Herder) -> Mapping[str, Mapping[str, str]]:
    """The connectors while this driver leads."""
    view = herder.view()
    rows = {name: view.config.connectors[name].properties for name in view.names()} if view.ready else {}
    return {name: properties for name, properties in rows.items() if properties is not None}


def build_herder(
    worker: WorkerConfig, runner: TaskRunner, address: str, initial: Sequence[Mapping[str, str]] = ()
) -> Herder:
    """The herder of a driver whose REST API listens at `address`; nothing is asked of the brokers yet."""
    url = _advertised(worker, address)
    base = {"bootstrap.servers": worker.bootstrap_servers, **worker.client}
    admin = KafkaAdmin(admin_settings(base, worker.admin))

    def consumer(group: str) -> KafkaConsumer:
        return KafkaConsumer(consumer_settings(group, base, worker.consumer))

    def topic_log(topic: str, producer: Producer) -> TopicLog:
        return TopicLog(topic, consumer(f"{worker.group_id}-herder"), producer)

    def prepare() -> None:
        admin.create_topic(worker.config_topic, 1, worker.config_replication_factor, CONFIG_TOPIC_CONFIG)
        admin.create_topic(
            worker.status_topic, worker.status_partitions, worker.status_replication_factor, TOPIC_CONFIG
        )
        admin.create_topic(
            worker.offset_topic, worker.offset_partitions, worker.offset_replication_factor, TOPIC_CONFIG
        )
        admin.create_topic(
            worker.outcome_topic, worker.outcome_partitions, worker.outcome_replication_factor, OUTCOME_TOPIC_CONFIG
        )

    worker_id = url.removeprefix("http://") if worker.advertised_host else worker.listeners[0].removeprefix("http://")
    leader = LeaderProducer(lambda: leader_producer(leader_id(worker.group_id), worker))
    connectors = Connectors(topic_log(worker.config_topic, leader), worker_id, url)
    settings = Settings(
        slots=worker.slots,
        budget_ms=worker.lease_budget_ms,
        graceful_ms=worker.graceful_timeout_ms,
        worker=worker.properties,
    )
    plain = KafkaProducer(producer_settings(base, worker.producer, QUICK))
    return Herder(
        connectors=connectors,
        leadership=Leadership(open_election(worker), leader, connectors, settings.silent_ms),
        status=StatusTopic(topic_log(worker.status_topic, plain)),
        offsets=GroupOffsets(admin, consumer, lambda properties, task: task_producer(properties, task, worker)),
        sources=TopicSourceOffsets(worker),
        admin=admin,
        runner=runner,
        examine=partial(examined, worker=worker),
        fence=lambda properties, tasks: fence_tasks(properties, tasks, worker),
        settings=settings,
        worker_id=worker_id,
        now_ms=lambda: time.time_ns() // 1_000_000,
        prepare=prepare,
        retention_ms=admin.offsets_retention_ms,
        initial=initial,
        secrets=secrets_of,
    )


if __name__ == "__main__":
    sys.exit(main())
