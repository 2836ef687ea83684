"""A worker's process: the herder, its REST API and Spark, until a signal stops them."""

from __future__ import annotations

import logging
import os
import signal
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path

from engine.assembly.driver import ClusterId, TransactionLimit
from engine.assembly.own_offsets import offsets_copier
from engine.config.connector_files import ConnectorFile
from engine.config.options import line_of
from engine.config.worker import WorkerConfig
from engine.herder.herder import Herder
from engine.reporting import log_lines
from engine.reporting.log_levels import LogLevels
from engine.rest.access import access_rules
from engine.rest.app import build_app
from engine.rest.forwarding import LeaderForwarder
from engine.rest.request_checks import RequestChecks
from engine.rest.server import RestServer
from engine.rest.tls import client_context, server_context
from engine.spark.runner import SparkRunner
from engine.startup.wiring import advertised, build_herder, examine_connector

log = logging.getLogger("engine")
REST_SECRETS = ("CONNECT_REST_AUTH_", "CONNECT_REST_BASIC_AUTH_", "CONNECT_LISTENERS_HTTPS_")


def run_worker(worker: WorkerConfig, connectors: Sequence[ConnectorFile]) -> bool:
    """Run until a signal stops it. Return False if Spark did not start. Raises ConfigError before anything starts."""
    log_lines.configure(worker.log)
    for row in worker.warnings:
        log.warning("%s", line_of(row))
    examine = partial(examine_connector, worker=worker, transaction_max_ms=TransactionLimit(worker))
    for file in connectors:
        # Before anything is started, so that a mistake in a file is shown at once.
        examine(file.properties)
    access, token_file = access_rules(worker, os.environ)
    rest = RestServer(worker.rest.listeners, server_context(worker.rest, worker.client))
    forwarder = LeaderForwarder(tls=client_context(worker.rest, worker.client))
    for name in [name for name in os.environ if name.startswith(REST_SECRETS)]:
        del os.environ[name]  # Spark's processes, and so the code of connectors, inherit the environment
    runner = spark_runner(worker)
    states = {file.name: file.initial_state for file in connectors if file.initial_state is not None}
    url = advertised(worker, rest.addresses)
    levels = LogLevels()
    herder = build_herder(worker, runner, url, [file.properties for file in connectors], states, levels)
    cluster = ClusterId(worker)
    app = build_app(herder, examine, cluster, worker=worker, levels=levels, forwarder=forwarder)
    rest.start(RequestChecks(app, access))
    log.info("REST API at %s; %s", " and ".join(rest.addresses), _sign_in_hint(worker, token_file))
    is_standalone = worker.run_directory is not None
    copier: AbstractContextManager[object] = (
        nullcontext() if is_standalone else offsets_copier(worker, lambda: _connectors_if_leading(herder))
    )
    try:
        with copier:
            return run_herders([herder], runner)
    finally:
        rest.stop()
        runner.close()


def spark_runner(worker: WorkerConfig) -> SparkRunner:
    """Return the runner of leases."""
    # A standby driver should hold no executors of a cluster. With a local master, it starts Spark early to be ready.
    lazy = not worker.spark_master.startswith("local")
    return SparkRunner(worker.spark_master, worker.slots, options=worker.spark, lazy=lazy)


def run_herders(herders: Sequence[Herder], runner: SparkRunner) -> bool:
    """Run the herders until a signal stops them. Return False if Spark did not start."""
    broken: list[BaseException] = []

    def stop() -> None:
        for herder in herders:
            herder.stop()

    def stop_without_spark(error: BaseException) -> None:
        broken.append(error)
        stop()

    runner.when_broken(stop_without_spark)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop())
    first, *others = herders
    with ThreadPoolExecutor(len(herders), thread_name_prefix="herder") as threads:
        running = [threads.submit(herder.run) for herder in others]
        for one in running:
            one.add_done_callback(lambda _: stop())  # a herder that fails must not leave the others behind
        try:
            first.run()  # on the main thread, which signals interrupt
        finally:
            stop()
    for one in running:
        one.result()
    if broken:
        log.error("Spark did not start, so the engine stopped; check the spark.* options: %s", broken[0])
    return not broken


def _sign_in_hint(worker: WorkerConfig, token_file: Path | None) -> str:
    if worker.rest.is_open:
        return "every process on this machine has access (rest.authentication=none)"
    if token_file is None:
        return "requests need the configured credentials"
    return f"requests need the header 'Authorization: Bearer <token>'; the token is in {token_file}"


def _connectors_if_leading(herder: Herder) -> Mapping[str, Mapping[str, str]]:
    """Return the connectors while this driver leads."""
    view = herder.view()
    rows = {name: view.config.connectors[name].properties for name in view.names()} if view.ready else {}
    return {name: properties for name, properties in rows.items() if properties is not None}
