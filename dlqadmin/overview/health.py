"""The health of the system as an API document."""

from collections import Counter
from collections.abc import Iterable

from django.db import connection

from dlqadmin.connectors.documents import ShownState
from dlqadmin.overview import verdict
from dlqadmin.overview.documents import (
    ApprovalHealth,
    BrokerHealth,
    ConnectHealth,
    ConnectorCounts,
    DatabaseHealth,
    Health,
    IndexedPartition,
    IndexHealth,
    RedisHealth,
    TaskTotals,
    TextHealth,
)
from dlqadmin.overview.facts import SystemFacts, indexers, workers
from dlqadmin.overview.index_lag import IndexLag
from dlqadmin.replays.plans.approvals import waiting
from dlqadmin.rest.times import iso


def health(facts: SystemFacts) -> Health:
    """Return the health of every part, with the overall status and its reasons."""
    found = verdict.reasons(facts)
    return Health(
        status=verdict.overall(found),
        reasons=[reason.text for reason in found],
        index=_index(facts.lag),
        indexers=indexers(facts),
        broker=BrokerHealth(reachable=facts.broker.reachable, brokers=facts.broker.brokers),
        connect=[
            ConnectHealth(
                name=response.cluster,
                reachable=response.reachable,
                workers=len(workers(response)) if response.reachable else 0,
            )
            for response in facts.connect
            if response.is_connect
        ],
        connectors=connector_counts(facts.shown.values()),
        tasks=task_totals(facts.shown.values()),
        workers=list(facts.queues),
        scheduler=facts.scheduler,
        approvals=ApprovalHealth(waiting=len(waiting())),
        redis=RedisHealth(reachable=facts.has_redis),
        database=DatabaseHealth(vendor=connection.vendor),
        audit=facts.audit,
    )


def connector_counts(rows: Iterable[ShownState]) -> ConnectorCounts:
    """Return the number of connectors in each state. Pure."""
    found = Counter[str](row.state for row in rows)
    return ConnectorCounts(
        total=found.total(),
        running=found["running"],
        failed=found["failed"],
        paused=found["paused"],
        stopped=found["stopped"],
        unassigned=found["unassigned"],
        no_tasks=found["no_tasks"],
        unknown=found["unknown"],
        finished=found["finished"],
    )


def task_totals(rows: Iterable[ShownState]) -> TaskTotals:
    """Return the number of tasks in each state. Pure."""
    known = list(rows)
    told = [row.tasks for row in known if row.state != "unknown"]
    return TaskTotals(
        total=sum(row.tasks.total for row in known),
        running=sum(tasks.running for tasks in told),
        failed=sum(tasks.failed for tasks in told),
        paused=sum(tasks.paused for tasks in told),
        stopped=sum(tasks.stopped for tasks in told),
        unassigned=sum(tasks.unassigned for tasks in told),
        unknown=sum(row.tasks.total for row in known if row.state == "unknown"),
    )


def _index(lag: IndexLag) -> IndexHealth:
    return IndexHealth(
        records_behind=lag.records,
        seconds_behind=round(lag.seconds, 1),
        text=TextHealth(records_behind=lag.text.records, seconds_behind=round(lag.text.seconds, 1)),
        topics=[
            IndexedPartition(
                topic=row.topic, partition=row.partition, position=row.position, end=row.end, at=iso(row.at)
            )
            for row in lag.partitions
        ],
    )
