"""Jobs that read a dead letter topic again in the background, after a change of its dialect."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from dlqadmin.broker import clusters, topics
from dlqadmin.broker.messages import BrokerUnavailable
from dlqadmin.deadletters.index.reindex import rewrite_slices
from dlqadmin.deadletters.models import Reread, RereadState
from dlqadmin.jobs import runs
from dlqadmin.jobs.claims import JobKind, held

LEASE = timedelta(minutes=2)
RETRY = timedelta(seconds=15)  # after Kafka did not respond
# The indexer may read with the former mapping for this long. Letters that it writes meanwhile must be read again too.
INDEXER_NOTICES_S = 4.0


def start(topic: str, actor: str) -> Reread:
    """Read the topic of the current cluster again from its start. A reread that runs starts over.

    Raises BrokerUnavailable.
    """
    now = timezone.now()
    places = [(topic, partition) for partition in range(topics.partitions(topic) or 0)]
    ends, begins = topics.ends(places), topics.begins(places)
    total = sum(end - begins.get(place, end) for place, end in ends.items())
    with transaction.atomic():
        Reread.objects.filter(cluster=clusters.current(), topic=topic, state=RereadState.RUNNING).delete()
        return Reread.objects.create(cluster=clusters.current(), topic=topic, actor=actor, created_at=now, total=total)


def run_next(wait: Callable[[float], Any] = time.sleep) -> bool:
    """Run the oldest reread that nobody runs. Return whether there was one."""
    return runs.run_next(KIND, lambda job: _work(job, wait))


def _work(job: Reread, wait: Callable[[float], Any]) -> bool:
    """Read on from the stored position. Stops without an error if another worker has the job, or if Kafka is away."""
    wait(max(0.0, INDEXER_NOTICES_S - (timezone.now() - job.created_at).total_seconds()))
    with clusters.on(job.cluster):
        return _read_on(job)


def _read_on(job: Reread) -> bool:
    read, written = job.read, job.written
    try:
        for part in rewrite_slices(job.topic, job.partition, job.offset):
            read, written = read + part.read, written + part.written
            moved = {"partition": part.partition, "offset": part.next_offset, "read": read, "written": written}
            if not held(job).update(**moved, heartbeat=timezone.now(), tries=0, trouble=""):
                return False
    except BrokerUnavailable as error:
        # A heartbeat that is nearly too old frees the job early: Kafka may be back long before the lease ends.
        soon = timezone.now() - LEASE + RETRY
        held(job).update(trouble=f"Kafka did not respond: {error}"[:1000], tries=0, heartbeat=soon)
        return True
    held(job).update(state=RereadState.DONE, done_at=timezone.now(), trouble="")
    return False


def _give_up(job: Reread, why: str, now: datetime) -> None:
    held(job).update(state=RereadState.FAILED, trouble=why[:1000], done_at=now)


KIND = JobKind(Reread, Q(state=RereadState.RUNNING), LEASE, _give_up)
