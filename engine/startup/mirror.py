"""The flows of a MirrorMaker 2 file in one process: a herder for each flow, and one Spark for all."""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Collection, Mapping

from engine.assembly.validation import check_worker
from engine.config.options import line_of
from engine.config.worker import WorkerConfig, parse_worker
from engine.connectors.mirror.mirror_maker import Flow, read_flows
from engine.errors import ConfigError
from engine.reporting import log_lines
from engine.startup.run import run_herders, spark_runner
from engine.startup.wiring import build_herder, examine_connector

log = logging.getLogger("engine")


def run_mirror(properties: Mapping[str, str], targets: Collection[str] = ()) -> bool:
    """Run until a signal stops it. Return False if Spark did not start. Raises ConfigError before anything starts."""
    flows, warnings = read_flows(properties, targets)
    workers = [_worker(flow) for flow in flows]
    log_lines.configure(workers[0].log)
    for row in warnings:
        log.warning("%s", line_of(row))
    for flow, worker in zip(flows, workers, strict=True):
        for row in worker.warnings:
            log.warning("flow %s: %s", flow.label, line_of(row))
        log.info("flow %s: %s", flow.label, "records" if flow.replicates else "heartbeats only")
    # There is no REST API. The name tells the drivers of several processes apart.
    process = f"{socket.gethostname()}-{os.getpid()}"
    runner = spark_runner(workers[0])
    try:
        return run_herders(
            [
                build_herder(worker, runner, f"{process}/{flow.label}", [flow.connector])
                for flow, worker in zip(flows, workers, strict=True)
            ],
            runner,
        )
    finally:
        runner.close()


def _worker(flow: Flow) -> WorkerConfig:
    """Return the flow's worker. Problems name the flow."""
    try:
        worker = parse_worker(flow.worker)
        check_worker(worker)
        examine_connector(flow.connector, worker)
    except ConfigError as error:
        rows = ((f"{flow.label}.{option}", value, text) for option, value, text in error.problems)
        raise ConfigError(tuple(rows)) from error
    return worker
