"""`python -m engine run | validate`: the command line, its wiring and its exit codes."""

from __future__ import annotations

import argparse
import logging
import os
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from engine.assembly.plan import secrets_of, validate
from engine.config.properties import load_properties
from engine.config.topic import TOPIC_CONFIG
from engine.config.worker import WorkerConfig, parse_worker
from engine.errors import ConfigError
from engine.herder.connectors import Connectors
from engine.herder.examination import Examine
from engine.herder.herder import Herder
from engine.herder.positions import GroupOffsets
from engine.herder.state import Settings
from engine.herder.status import StatusTopic
from engine.herder.topic_log import TopicLog
from engine.herder.view import ConnectorFacts
from engine.kafka.admin import KafkaAdmin
from engine.kafka.consumer import KafkaConsumer
from engine.kafka.producer import KafkaProducer
from engine.kafka.settings import QUICK, admin_settings, consumer_settings, producer_settings
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
    options = parser.parse_args(arguments)
    try:
        worker = parse_worker(load_properties(options.worker) if options.worker else {}, os.environ)
        if options.command == "validate":
            return _validate(options.connector, worker)
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


def _print_problems(error: ConfigError) -> None:
    for option, value, message in error.problems:
        print(f"{option}: {message}" if value is None else f"{option} = {value}: {message}", file=sys.stderr)
    count = len(error.problems)
    print(f"{count} problem{'' if count == 1 else 's'}", file=sys.stderr)


def _run(worker: WorkerConfig, connectors: Mapping[Path, Mapping[str, str]]) -> int:
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    logging.getLogger("py4j").setLevel(logging.WARNING)

    def examine(properties: Mapping[str, str]) -> ConnectorFacts:
        plan = validate(properties, worker)
        return ConnectorFacts(
            kind=plan.known.kind,
            delivery=plan.delivery,
            dead_letters=plan.dead_letters,
            stages=plan.stages,
            tolerance=plan.tolerance,
            task_configs=plan.task_configs,
            secrets=plan.secrets,
        )

    for properties in connectors.values():
        examine(properties)
    rest = RestServer(worker.listeners[0])
    broken: list[BaseException] = []
    runner = SparkRunner(worker.spark_master, worker.slots, options=worker.spark)
    herder = _herder(worker, runner, examine, list(connectors.values()))
    rest.start(build_app(herder, examine))
    log.info("REST API at %s", rest.address)

    def spark_broke(error: BaseException) -> None:
        broken.append(error)
        herder.stop()

    runner.when_broken(spark_broke)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: herder.stop())
    try:
        herder.run()
    finally:
        rest.stop()
        runner.close()
    if broken:
        log.error("Spark did not start: %s", broken[0])
    return FAILED if broken else OK


def _herder(
    worker: WorkerConfig, runner: SparkRunner, examine: Examine, initial: Sequence[Mapping[str, str]]
) -> Herder:
    base = {"bootstrap.servers": worker.bootstrap_servers, **worker.client}
    admin = KafkaAdmin(admin_settings(base, worker.admin))

    def consumer(group: str) -> KafkaConsumer:
        return KafkaConsumer(consumer_settings(group, base, worker.consumer))

    def topic_log(topic: str) -> TopicLog:
        producer = KafkaProducer(producer_settings(base, worker.producer, QUICK))
        return TopicLog(topic, consumer(f"{worker.group_id}-herder"), producer)

    def prepare() -> None:
        admin.create_topic(worker.config_topic, 1, worker.config_replication_factor, TOPIC_CONFIG)
        admin.create_topic(
            worker.status_topic, worker.status_partitions, worker.status_replication_factor, TOPIC_CONFIG
        )
        admin.create_topic(
            worker.offset_topic, worker.offset_partitions, worker.offset_replication_factor, TOPIC_CONFIG
        )
        admin.create_topic(
            worker.outcome_topic, worker.outcome_partitions, worker.outcome_replication_factor, OUTCOME_TOPIC_CONFIG
        )

    worker_id = worker.listeners[0].removeprefix("http://")
    return Herder(
        connectors=Connectors(topic_log(worker.config_topic), worker_id),
        status=StatusTopic(topic_log(worker.status_topic)),
        offsets=GroupOffsets(admin, consumer),
        admin=admin,
        runner=runner,
        examine=examine,
        settings=Settings(
            slots=worker.slots,
            budget_ms=worker.lease_budget_ms,
            graceful_ms=worker.graceful_timeout_ms,
            worker=worker.properties,
        ),
        worker_id=worker_id,
        now_ms=lambda: time.time_ns() // 1_000_000,
        prepare=prepare,
        initial=initial,
        secrets=secrets_of,
    )


if __name__ == "__main__":
    sys.exit(main())
