"""Signs of life of the dashboard's background processes: Celery workers and Celery beat."""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from django.conf import settings

from dlqadmin.overview.documents import SchedulerHealth, WorkerQueueHealth
from dlqadmin.overview.models import ProcessHeartbeat
from dlqadmin.rest.times import iso_or_none

BEAT = "beat"
ALIVE_FOR = timedelta(seconds=30)  # a worker writes every ten seconds
BEAT_ALIVE_FOR = timedelta(seconds=60)  # a busy worker may run the task of Celery beat late
FORGOTTEN_AFTER = timedelta(hours=1)  # a killed worker may come back with another name
DEFAULT_QUEUE = "celery"
PURPOSES = {DEFAULT_QUEUE: "jobs, outcomes and metrics", "replays": "replay sender"}


def note(name: str, queues: Sequence[str], now: datetime) -> None:
    """Store a sign of life of a process."""
    ProcessHeartbeat.objects.update_or_create(name=name[:200], defaults={"queues": list(queues), "at": now})


def forget(name: str) -> None:
    """Forget a process that ended on purpose, so that nobody misses it."""
    ProcessHeartbeat.objects.filter(name=name[:200]).delete()


def forget_old(now: datetime) -> None:
    """Forget processes that have been silent for an hour."""
    ProcessHeartbeat.objects.filter(at__lt=now - FORGOTTEN_AFTER).delete()


def queue_names() -> list[str]:
    """Return the queues to which the dashboard sends messages."""
    routed = {str(route["queue"]) for route in settings.CELERY_TASK_ROUTES.values()}
    return [DEFAULT_QUEUE, *sorted(routed - {DEFAULT_QUEUE})]


def worker_queues(rows: Iterable[ProcessHeartbeat], queues: Iterable[str], now: datetime) -> list[WorkerQueueHealth]:
    """Return the workers of each queue. Pure."""
    known = list(rows)
    found = []
    for queue in queues:
        workers = [row for row in known if queue in row.queues]
        alive = [row for row in workers if abs(now - row.at) <= ALIVE_FOR]  # one of the future is of a wrong clock
        found.append(
            WorkerQueueHealth(
                queue=queue,
                purpose=PURPOSES.get(queue, "jobs"),
                alive=len(alive),
                silent=sorted(row.name for row in workers if row not in alive),
                seen_at=iso_or_none(max((row.at for row in workers), default=None)),
            )
        )
    return found


def scheduler(rows: Iterable[ProcessHeartbeat], now: datetime) -> SchedulerHealth:
    """Return whether Celery beat runs. Pure."""
    at = next((row.at for row in rows if row.name == BEAT), None)
    return SchedulerHealth(alive=at is not None and abs(now - at) <= BEAT_ALIVE_FOR, seen_at=iso_or_none(at))
