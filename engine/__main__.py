"""`python -m engine run | validate | acls | mirror-offsets | rehearse | hash-password`: wiring and exit codes."""

from __future__ import annotations

from engine import import_path

if __name__ == "__main__":
    import_path.close()  # before other imports, which modules in the working directory could replace

import argparse
import logging
import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from getpass import getpass
from pathlib import Path
from urllib.parse import urlsplit

from engine.assembly.acls import grant_script, required_acls
from engine.assembly.driver import (
    TopicSourceOffsets,
    TransactionLimit,
    fence_tasks,
    leader_producer,
    open_election,
    task_producer,
)
from engine.assembly.mirror_offsets_command import GROUP, ORIGINS, copy_offsets
from engine.assembly.own_offsets import offsets_copier
from engine.assembly.task_discovery import watch_of
from engine.assembly.validation import check_worker, plan_of_task, secrets_of, validate
from engine.config.client_names import herder_group, leader_id
from engine.config.options import Problem
from engine.config.properties import load_properties
from engine.config.rest import bracketed
from engine.config.topic import CONFIG_TOPIC_CONFIG, OFFSETS_TOPIC_CONFIG, TOPIC_CONFIG
from engine.config.worker import WorkerConfig, parse_worker
from engine.connectors.mirror.options import SOURCE, read_mirror
from engine.errors import ConfigError, EngineError
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
from engine.kafka.consumer import KafkaConsumer
from engine.kafka.producer import KafkaProducer
from engine.leases import Delivery
from engine.ports import Producer, TaskRunner
from engine.rehearsal.process import rehearse_here
from engine.reporting import log_lines
from engine.reporting.replay_outcomes import OUTCOME_TOPIC_CONFIG
from engine.rest.access import access_rules
from engine.rest.app import build_app
from engine.rest.credentials import hash_password
from engine.rest.request_checks import RequestChecks
from engine.rest.server import RestServer
from engine.rest.tls import server_context
from engine.spark.runner import SparkRunner
from engine.tasks.clients import COMMITTED_ONLY
from engine.tasks.plan import ConnectorPlan
from engine.tasks.transaction_options import check_broker_limit

log = logging.getLogger("engine")

OK, FAILED, MISUSED = 0, 1, 2
REST_SECRETS = ("CONNECT_REST_AUTH_", "CONNECT_REST_BASIC_AUTH_", "CONNECT_LISTENERS_HTTPS_")


def main(arguments: Sequence[str] | None = None) -> int:
    """Return the exit code: 0 done, 1 a bad configuration or a failure, 2 a wrong command line."""
    options = argument_parser().parse_args(arguments)
    try:
        if options.command == "hash-password":
            print(hash_password(getpass() if sys.stdin.isatty() else sys.stdin.readline().rstrip("\n")))
            return OK
        if options.command == "rehearse":
            return rehearse_here(sys.stdin.buffer)
        worker = parse_worker(load_properties(options.worker) if options.worker else {}, os.environ)
        check_worker(worker)
        if options.command == "validate":
            return _validate(options.connector, worker)
        if options.command == "acls":
            return _acls(options, worker)
        if options.command == "mirror-offsets":
            return _mirror_offsets(options, worker)
        return _run(worker, {path: load_properties(path) for path in options.connector})
    except ConfigError as error:
        _print_problems(error)
        return FAILED
    except OSError as error:
        print(f"{error.filename}: {error.strerror}", file=sys.stderr)
        return MISUSED


def argument_parser() -> argparse.ArgumentParser:
    """Return the parser of the command line; `command` names the subcommand."""
    parser = argparse.ArgumentParser(prog="python -m engine", description="Runs Kafka connectors on Spark.")
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="run a worker with its REST API")
    run.add_argument("worker", nargs="?", type=Path, help="worker.properties")
    run.add_argument(
        "--connector",
        action="append",
        default=[],
        type=Path,
        help="connector.properties to create or update at the start; may be repeated",
    )
    check = commands.add_parser("validate", help="print every problem of a connector's configuration")
    check.add_argument("connector", type=Path, help="connector.properties")
    check.add_argument("--worker", type=Path, help="worker.properties")
    acls = commands.add_parser("acls", help="print the kafka-acls commands that a worker and connectors need")
    acls.add_argument("worker", type=Path, help="worker.properties")
    acls.add_argument("connector", nargs="*", type=Path, help="connector.properties")
    acls.add_argument("--principal", default="", help="the worker's principal, such as User:connect")
    copy = commands.add_parser("mirror-offsets", help="set the missing offsets of a mirror with connector.type=sink")
    copy.add_argument("connector", type=Path, help="connector.properties")
    copy.add_argument("--worker", type=Path, help="worker.properties")
    copy.add_argument("--from", dest="origin", choices=ORIGINS, default=GROUP, help="the source of the offsets")
    copy.add_argument(
        "--group", default="", help="the consumer group on the source cluster; default: the connector's own"
    )
    copy.add_argument("--dry-run", action="store_true", help="print the offsets without setting them")
    commands.add_parser("rehearse", help="run records through a connector's steps without writing anything")
    commands.add_parser("hash-password", help="print the hash of a password for rest.basic.auth.credentials.file")
    return parser


def _validate(path: Path, worker: WorkerConfig) -> int:
    plan = validate(load_properties(path), worker)
    for row in (*worker.warnings, *plan.warnings):
        print(f"warning: {_line(row)}", file=sys.stderr)
    print(f"{path}: no problems")
    return OK


def _acls(options: argparse.Namespace, worker: WorkerConfig) -> int:
    connectors = [load_properties(path) for path in options.connector]
    for line in grant_script(required_acls(worker, connectors, options.principal)):
        print(line)
    return OK


def _mirror_offsets(options: argparse.Namespace, worker: WorkerConfig) -> int:
    plan, found = plan_of_task(load_properties(options.connector), worker)
    try:
        rows = copy_offsets(plan, worker, options.origin, options.group, dry_run=options.dry_run)
    except EngineError as error:
        if isinstance(error, ConfigError):
            raise
        print(found.hide(str(error)), file=sys.stderr)
        return FAILED
    for row in rows:
        print(row)
    done = "would be set" if options.dry_run else "set"
    print(f"{sum(row.is_set for row in rows)} of {len(rows)} offsets {done}")
    return OK


def _print_problems(error: ConfigError) -> None:
    for row in error.problems:
        print(_line(row), file=sys.stderr)
    count = len(error.problems)
    print(f"{count} problem{'' if count == 1 else 's'}", file=sys.stderr)


def _line(row: Problem) -> str:
    option, value, message = row
    return f"{option}: {message}" if value is None else f"{option} = {value}: {message}"


def examine_connector(
    properties: Mapping[str, str], worker: WorkerConfig, transaction_max_ms: Callable[[], int | None] = lambda: None
) -> ConnectorFacts:
    """Return the facts that the herder needs about a connector. Raises ConfigError.

    `transaction_max_ms` returns the brokers' limit of transaction time-outs, or None.
    """
    plan = validate(properties, worker)
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
    )


def _run(worker: WorkerConfig, connectors: Mapping[Path, Mapping[str, str]]) -> int:
    log_lines.configure(worker.log)
    for row in worker.warnings:
        log.warning("%s", _line(row))
    examine = partial(examine_connector, worker=worker, transaction_max_ms=TransactionLimit(worker))
    for properties in connectors.values():
        # Before anything is started, so that a mistake in a file is shown at once.
        examine(properties)
    access, token_file = access_rules(worker, os.environ)
    rest = RestServer(worker.rest.listeners, server_context(worker.rest, worker.client))
    for name in [name for name in os.environ if name.startswith(REST_SECRETS)]:
        del os.environ[name]  # Spark's processes, and so the code of connectors, inherit the environment
    broken: list[BaseException] = []
    # A standby driver should hold no executors of a cluster. With a local master, it starts Spark early to be ready.
    lazy = not worker.spark_master.startswith("local")
    runner = SparkRunner(worker.spark_master, worker.slots, options=worker.spark, lazy=lazy)
    herder = build_herder(worker, runner, rest.addresses, list(connectors.values()))
    rest.start(RequestChecks(build_app(herder, examine, worker=worker), access))
    log.info("REST API at %s; %s", " and ".join(rest.addresses), _sign_in_hint(worker, token_file))

    def stop_without_spark(error: BaseException) -> None:
        broken.append(error)
        herder.stop()

    runner.when_broken(stop_without_spark)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: herder.stop())
    try:
        with offsets_copier(worker, lambda: _connectors_if_leading(herder)):
            herder.run()
    finally:
        rest.stop()
        runner.close()
    if broken:
        log.error("Spark did not start, so the engine stopped; check the spark.* options: %s", broken[0])
    return FAILED if broken else OK


def _sign_in_hint(worker: WorkerConfig, token_file: Path | None) -> str:
    if worker.rest.is_open:
        return "every process on this machine has access (rest.authentication=none)"
    if token_file is None:
        return "requests need the configured credentials"
    return f"requests need the header 'Authorization: Bearer <token>'; the token is in {token_file}"


def _advertised(worker: WorkerConfig, addresses: Sequence[str]) -> str:
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


def _connectors_if_leading(herder: Herder) -> Mapping[str, Mapping[str, str]]:
    """Return the connectors while this driver leads."""
    view = herder.view()
    rows = {name: view.config.connectors[name].properties for name in view.names()} if view.ready else {}
    return {name: properties for name, properties in rows.items() if properties is not None}


def build_herder(
    worker: WorkerConfig, runner: TaskRunner, addresses: Sequence[str], initial: Sequence[Mapping[str, str]] = ()
) -> Herder:
    """Return the herder of a driver whose REST API listens at `addresses`.

    The brokers are not contacted yet.
    """
    url = _advertised(worker, addresses)
    base = {"bootstrap.servers": worker.bootstrap_servers, **worker.client}
    admin = KafkaAdmin(admin_settings(base, worker.admin))

    def consumer(group: str) -> KafkaConsumer:
        # The leader writes the config topic in transactions, and an aborted record must never count (KIP-618).
        return KafkaConsumer(consumer_settings(group, base, worker.consumer, COMMITTED_ONLY))

    def topic_log(topic: str, producer: Producer) -> TopicLog:
        return TopicLog(topic, consumer(herder_group(worker.group_id)), producer)

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

    worker_id = urlsplit(url).netloc if worker.rest.advertised_host else worker.rest.listeners[0].address
    leader = LeaderProducer(lambda: leader_producer(leader_id(worker.group_id), worker))
    connectors = Connectors(topic_log(worker.config_topic, leader), worker_id, url)
    settings = HerderSettings(
        slots=worker.slots,
        budget_ms=worker.lease_budget_ms,
        graceful_ms=worker.graceful_timeout_ms,
        worker=worker.lease_properties,
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
        examine=partial(examine_connector, worker=worker, transaction_max_ms=TransactionLimit(worker)),
        fence=lambda properties, tasks: fence_tasks(properties, tasks, worker),
        settings=settings,
        worker_id=worker_id,
        now_ms=lambda: time.time_ns() // 1_000_000,
        prepare=prepare,
        retention_ms=admin.offsets_retention_ms,
        initial=initial,
        secrets=partial(secrets_of, worker=worker),
    )


if __name__ == "__main__":
    sys.exit(main())
