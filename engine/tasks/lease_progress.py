"""Progress reports of a running lease, on the status topic."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import msgspec

from engine.config.topic import LEASE_KEY
from engine.config.worker import WorkerConfig
from engine.errors import EngineError
from engine.kafka.client_options import QUICK, producer_settings
from engine.kafka.producer import KafkaProducer
from engine.standalone.directory import STATUS
from engine.standalone.file_topic import FileTopicWriter
from engine.tasks.clients import base
from engine.worker_messages import LeaseProgress

MOST_BYTES = 500_000  # of one record; brokers take up to 1 MB
log = logging.getLogger(__name__)

_producers: dict[tuple[str, str], KafkaProducer] = {}


def write_progress(worker: WorkerConfig, progress: LeaseProgress) -> None:
    """Write progress to the status topic without waiting. A lost report is followed by a newer one."""
    if worker.run_directory is not None:
        _write_to_file(Path(worker.run_directory, STATUS), progress)
        return
    key = (worker.bootstrap_servers, worker.status_topic)
    try:
        if key not in _producers:
            _producers[key] = KafkaProducer(producer_settings(base(worker), worker.producer, QUICK))
        producer = _producers[key]
        if lost := producer.forget():
            log.debug("%d progress reports of leases were not written", lost)
        producer.produce_all([(worker.status_topic, LEASE_KEY, value, (), None, 0) for value in values(progress)])
    except EngineError as error:
        log.debug("a progress report of a lease was not sent: %s", error)
        if key in _producers:
            _producers.pop(key).close()


def _write_to_file(path: Path, progress: LeaseProgress) -> None:
    writer = FileTopicWriter(path)
    writer.produce_all([("", LEASE_KEY, value, (), None, 0) for value in values(progress)])
    try:
        writer.flush()
    except EngineError as error:
        log.debug("a progress report of a lease was not written: %s", error)


def values(progress: LeaseProgress) -> Iterator[bytes]:
    """Yield the progress as record values, split only if it is too large."""
    value = msgspec.json.encode(progress)
    half = len(progress.reports) // 2
    if len(value) <= MOST_BYTES or not half:
        yield value
        return
    for part in (progress.reports[:half], progress.reports[half:]):
        yield from values(LeaseProgress(progress.lease_id, part))
