"""Periodic Celery tasks that maintain the index."""

from __future__ import annotations

import logging
import threading
from typing import Any

from celery import shared_task
from celery.signals import beat_init
from django.utils import timezone

from dlqadmin.broker import clusters
from dlqadmin.broker.messages import BrokerUnavailable
from dlqadmin.deadletters.index import (
    candidate_topics,
    decoded_values,
    mutes,
    rereads,
    retention,
    work_count_compaction,
)
from dlqadmin.deadletters.search import planner_statistics

_rereading = threading.Lock()
log = logging.getLogger(__name__)


@shared_task
def reread_topics() -> None:
    """Read topics again whose dialect has changed, one after another."""
    if not _rereading.acquire(blocking=False):
        return
    try:
        while rereads.run_next():
            pass
    finally:
        _rereading.release()


@shared_task
def prune_dead_letters() -> None:
    """Delete dead letters older than RETENTION_DAYS; 0 keeps all of them."""
    if before := retention.horizon(timezone.now()):
        retention.prune(before)


@shared_task
def add_recognised_topics() -> None:
    """Index the topics of DLQ_TOPIC_CANDIDATES whose newest records are dead letters."""
    for cluster in clusters.indexed():
        try:
            with clusters.on(cluster):
                candidate_topics.add_recognised(timezone.now())
        except BrokerUnavailable as error:
            log.warning("no candidate topic of %s was looked into: %s", cluster, error)


@beat_init.connect
def add_topics_at_start(**_: Any) -> None:
    """Look into candidate topics when beat starts, because its schedule begins a minute later."""
    add_recognised_topics.apply_async(expires=60)


@shared_task
def end_mutes() -> None:
    """Reopen muted groups whose mute time is over."""
    mutes.sweep(timezone.now())


@shared_task
def decode_values() -> None:
    """Decode values that name a schema, so that their members can be searched."""
    decoded_values.decode_for(decoded_values.RUN_S)


@shared_task
def compact_work() -> None:
    """Add up the changes of work, so that counting stays fast."""
    work_count_compaction.compact()


@shared_task
def gather_statistics() -> None:
    """Update the table statistics of SQLite's query planner. Does nothing on other databases."""
    planner_statistics.gather()
