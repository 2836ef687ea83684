"""The facts about all parts of the system. Health, the status strip and the findings are derived from them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import redis
from django.conf import settings
from django.db.models import Max

from dlqadmin.audit.documents import TrailHealth
from dlqadmin.audit.queries import trail_health
from dlqadmin.broker import clusters
from dlqadmin.broker.availability import KafkaAvailability, availability, availability_of
from dlqadmin.connectors.cluster_responses import ClusterResponse
from dlqadmin.connectors.connect_clusters import ConnectorKey
from dlqadmin.connectors.documents import ShownState
from dlqadmin.connectors.queries import shown_states
from dlqadmin.connectors.spark_queries import fetch_all
from dlqadmin.deadletters.index.followed_topics import followed_topics
from dlqadmin.deadletters.models import IndexPosition
from dlqadmin.metrics import queries as metrics
from dlqadmin.metrics.models import TaskSnapshot
from dlqadmin.overview import full_disk, processes
from dlqadmin.overview.documents import IndexerHealth, SchedulerHealth, WorkerQueueHealth
from dlqadmin.overview.index_lag import IndexLag, index_lag
from dlqadmin.overview.models import ProcessHeartbeat
from dlqadmin.rest.times import iso_or_none
from dlqadmin.teams.reach import current_reach

STOPPED_AFTER = timedelta(seconds=60)  # the indexer writes its positions every two seconds


@dataclass(frozen=True, slots=True)
class OtherCluster:
    """The state of another Kafka cluster and of its index. `indexed_at` is its indexer's last sign of life."""

    broker: KafkaAvailability
    lag: IndexLag
    indexed_at: datetime | None
    followed: int


@dataclass(frozen=True, slots=True)
class SystemFacts:
    """The state of all parts at one moment.

    `connect` are the responses of the Connect clusters, and the reports of Spark queries. `shown` are the states of
    the connectors, `figures` the last reports of their tasks. `broker`, `lag` and `followed` are of the own Kafka
    cluster, `others` of the other indexed ones. `indexed_at` is the last sign of life of the own cluster's indexer.
    `followed` is the number of dead letter topics. `is_disk_full` is about the database. Connectors and topics are
    those in reach; the rest is for all.
    """

    now: datetime
    broker: KafkaAvailability
    connect: Sequence[ClusterResponse]
    shown: Mapping[ConnectorKey, ShownState]
    figures: Mapping[str, Sequence[TaskSnapshot]]
    lag: IndexLag
    queues: Sequence[WorkerQueueHealth]
    scheduler: SchedulerHealth
    has_redis: bool
    audit: TrailHealth
    is_disk_full: bool = False
    indexed_at: Mapping[str, datetime] = field(default_factory=dict)
    followed: int = 0
    others: Mapping[str, OtherCluster] = field(default_factory=dict)

    @property
    def indexer_stopped_since(self) -> datetime | None:
        """Return when the indexer was last active, if that is over a minute ago, or in the future of a wrong clock."""
        at = self.indexed_at.get(settings.CLUSTER)
        return at if at is not None and abs(self.now - at) > STOPPED_AFTER else None

    @property
    def is_indexer_unknown(self) -> bool:
        """Return whether no indexer ever wrote a position."""
        return settings.CLUSTER not in self.indexed_at

    @property
    def unserved_queues(self) -> list[WorkerQueueHealth]:
        """Return the queues without a worker. While Redis is away, no worker can serve one."""
        return [row for row in self.queues if not row.alive] if self.has_redis else []

    @property
    def beat_trouble(self) -> str:
        """Return what is wrong with Celery beat, while a worker runs that could tell; else nothing."""
        if not self.has_redis or self.scheduler.alive or self.unserved_queues:
            return ""
        if self.scheduler.seen_at is None:  # also in the first seconds of a new installation
            return "Celery beat has not started a periodic task yet"
        return "Celery beat does not start periodic tasks"

    @property
    def reachable_clusters(self) -> set[str]:
        """Return the names of the Connect clusters that respond."""
        return {response.cluster for response in self.connect if response.reachable}

    @property
    def connect_workers(self) -> int:
        """Return the number of workers of all Connect clusters that respond."""
        return sum(len(workers(response)) for response in self.connect if response.reachable and response.is_connect)


def gather(now: datetime) -> SystemFacts:
    """Return the facts. An unavailable part is a fact, not an error."""
    broker, connect, figures = availability(), fetch_all(now), metrics.snapshots()
    followed, reach = followed_topics(), current_reach()
    beats = list(ProcessHeartbeat.objects.order_by("name"))
    # The indexer works for all teams, so its last sign of life is that of any topic.
    indexed_at = dict(IndexPosition._base_manager.order_by().values_list("cluster").annotate(at=Max("updated_at")))
    return SystemFacts(
        now=now,
        broker=broker,
        connect=connect,
        shown=shown_states(connect, figures),
        figures=figures,
        lag=index_lag(now, broker),
        queues=processes.worker_queues(beats, processes.queue_names(), now),
        scheduler=processes.scheduler(beats, now),
        has_redis=redis_answers(),
        is_disk_full=full_disk.is_reported(),
        audit=trail_health(now),
        indexed_at=indexed_at,
        followed=sum(followed.follows(topic) and reach.has_topic(topic, settings.CLUSTER) for topic in broker.topics),
        others=_other_clusters(now, indexed_at),
    )


def _other_clusters(now: datetime, indexed_at: Mapping[str, datetime]) -> dict[str, OtherCluster]:
    """Return the facts of the other indexed clusters. Those that are away are waited for at the same time."""
    names = clusters.indexed()[1:]
    found = {}
    for name, broker in availability_of(names).items():
        with clusters.on(name):
            followed, reach = followed_topics(), current_reach()
            count = sum(followed.follows(topic) and reach.has_topic(topic, name) for topic in broker.topics)
            found[name] = OtherCluster(broker, index_lag(now, broker), indexed_at.get(name), count)
    return found


def indexers(facts: SystemFacts) -> list[IndexerHealth]:
    """Return the indexer of each cluster, the own one first."""
    known = {settings.CLUSTER: None, **facts.indexed_at}
    return [
        IndexerHealth(
            cluster=cluster, alive=None if at is None else abs(facts.now - at) <= STOPPED_AFTER, seen_at=iso_or_none(at)
        )
        for cluster, at in known.items()
    ]


def workers(response: ClusterResponse) -> set[str]:
    """Return the workers of a Connect cluster that run a connector or a task."""
    found: set[str] = set()
    for row in response.body.values():
        status = row.get("status", {})
        holders = [status.get("connector"), *(status.get("tasks") or [])]
        found |= {str(holder.get("worker_id") or "") for holder in holders if isinstance(holder, dict)}
    return found - {""}


def redis_answers() -> bool:
    """Return whether Redis responds within a second."""
    client = redis.Redis.from_url(settings.REDIS_URL, socket_timeout=1, socket_connect_timeout=1)
    try:
        client.ping()
    except (redis.RedisError, OSError):
        return False
    finally:
        client.close()
    return True
