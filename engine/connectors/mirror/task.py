"""Open a mirror's task from its plan (KIP-656): a sink task that consumes from one cluster and produces to another."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass

from msgspec.structs import replace

from engine.connectors.mirror.assignment import assigned_partitions
from engine.connectors.mirror.client_options import MirrorClients, has_positions_group, mirror_clients
from engine.connectors.mirror.clients import MirrorConsumer, OffsetTrackingProducer, OffsetTrackingTransactional
from engine.connectors.mirror.cluster_admin import MirrorAdmin
from engine.connectors.mirror.idle_commits import CommitRefresh
from engine.connectors.mirror.naming import policy_of
from engine.connectors.mirror.options import SINK
from engine.connectors.mirror.progress_reports import ProgressReporter
from engine.connectors.mirror.sink import MirrorSink
from engine.connectors.mirror.source_positions import CheckedPositionStore, ConnectOffsets, MirrorCommit, PositionsGroup
from engine.errors import ClusterAway, RetriableError
from engine.exactly_once.transaction import Transaction
from engine.kafka.admin import KafkaAdmin
from engine.kafka.consumer import KafkaConsumer
from engine.kafka.offsets import TaskOffsets
from engine.pipeline.chain import Steps, applying
from engine.pipeline.claim import PositionStore, claim_positions
from engine.pipeline.commit import GroupStore, flush_letters, with_metadata
from engine.pipeline.opened_task import OpenTask
from engine.pipeline.sink_task import SinkTask
from engine.ports import Producer
from engine.record.record import RawRecord, Record
from engine.record.schema import BYTES
from engine.steps.registry import build_transform
from engine.tasks.clients import TaskOpening, build_guard, flush_outcomes, open_replay_reporter
from engine.tasks.dead_letters import open_dead_letters
from engine.tasks.source_offsets_topic import open_offsets
from engine.worker_messages import Delivery

log = logging.getLogger(__name__)

REACH_TIMEOUT_S = 5.0  # for the source's metadata; the lease's other tasks wait meanwhile
IDLE_MS = 1000  # an idle task runs again after this time


class MirrorTask(SinkTask):
    """A sink task with its own wake-up time: the herder can't see the ends of another cluster."""

    def wake_at(self) -> int:  # type: ignore[override]  # records wake other sinks, so theirs is None
        return self.clock.now_ms() + IDLE_MS


@dataclass(frozen=True, slots=True)
class MirrorWriter:
    """The producer of the records, and the store of the positions."""

    producer: Producer
    store: PositionStore
    transaction: Transaction | None


def open_mirror(opening: TaskOpening) -> OpenTask:
    """Claim the task's partitions and open its clients."""
    clients = mirror_clients(opening.plan.config, opening.worker, opening.task.task)
    remote = _remote(clients)
    consumer = _open_consumer(opening, clients)
    reporter = ProgressReporter(
        clients,
        consumer,
        remote,
        opening.clock,
        task=opening.task.task,
        transactional=opening.plan.delivery is Delivery.EXACTLY_ONCE,
    )
    opening.closing.callback(reporter.close)
    writing = _open_writing(opening, clients, consumer, reporter, remote)
    # A partition without a position may be new. The position stores decide about it, not `claim_positions`.
    task = replace(opening.task, partitions=assigned_partitions(opening.task.config), has_committed=False)
    positions, state = claim_positions(task, opening.plan.stages, consumer, writing.store)
    # Commit the positions again before brokers expire them.
    if clients.mirror.type == SINK and _reminders.is_due((opening.worker.group_id, clients.group, task.task)):
        writing.store.remember(with_metadata(positions, state.to_metadata()))
    # Dead letters and outcomes are on the worker's cluster; only there can they join the transaction.
    inside = writing.transaction if clients.is_on_workers_cluster else None
    letters = open_dead_letters(opening, state, inside)
    replayed = open_replay_reporter(opening, inside)
    put = MirrorSink(
        writing.producer,
        _topic_creator(clients, {remote(at.topic) for at in positions}),
        reporter.spans,
        flushes=opening.careful,
        count=reporter.records.put,
    )
    commit = MirrorCommit(
        writing.store,
        writing.transaction,
        put.flush,
        lambda: flush_letters(letters, state),
        lambda: flush_outcomes(replayed),
        reporter.committed,
    )
    running = MirrorTask(
        steps=_steps(opening, remote, clients.mirror.source_alias),
        sink=put,
        guard=build_guard(opening, state, letters),
        consumer=consumer,
        replayed=replayed,
        commit=commit,
        state=state,
        committed=positions,
        clock=opening.clock,
        commit_interval_ms=opening.worker.flush_interval_ms,
    )
    consumer.assign(positions)
    return OpenTask(
        opening.task,
        running,
        opening.plan.tolerance,
        opening.closing.close,
        opening.careful,
        reporter.records.report,
    )


def _open_consumer(opening: TaskOpening, clients: MirrorClients) -> MirrorConsumer:
    """Open the consumer of the source. An unavailable source is waited for once per lease."""
    settings = clients.source_consumer()
    cluster = settings["bootstrap.servers"]
    reason = f"the source cluster {clients.mirror.source_alias} at {cluster} does not respond"
    if cluster in opening.away:
        raise ClusterAway(reason)
    consumer = MirrorConsumer(settings)
    opening.closing.callback(consumer.close)
    try:
        consumer.reach(REACH_TIMEOUT_S)
    except RetriableError as error:
        opening.away.add(cluster)
        raise ClusterAway(f"{reason}: {error}") from error
    return consumer


def _open_writing(
    opening: TaskOpening,
    clients: MirrorClients,
    consumer: MirrorConsumer,
    reporter: ProgressReporter,
    remote: Callable[[str], str],
) -> MirrorWriter:
    """Open the target's producer and the position store, with a transaction if there is one."""
    once = opening.plan.delivery is Delivery.EXACTLY_ONCE
    if has_positions_group(clients.mirror):
        transaction, check = _open_transaction(opening, clients, reporter)
        reader = KafkaConsumer(clients.target_reader())
        opening.closing.callback(reader.close)
        stand_in = PositionsGroup(reader, transaction, clients.group, remote)
        check.append(stand_in.check)
        return MirrorWriter(transaction, _checked_store(stand_in, clients, remote), transaction)
    if clients.mirror.type == SINK:
        store = _checked_store(GroupStore(consumer), clients, remote)
        return MirrorWriter(_open_producer(opening, clients, reporter), store, None)
    if once:
        transaction, check = _open_transaction(opening, clients, reporter)
        offsets = _connect_offsets(opening, clients, consumer, transaction)
        check.append(offsets.check)
        return MirrorWriter(transaction, offsets, transaction)
    return MirrorWriter(
        _open_producer(opening, clients, reporter), _connect_offsets(opening, clients, consumer, None), None
    )


def _connect_offsets(
    opening: TaskOpening, clients: MirrorClients, consumer: MirrorConsumer, transaction: Transaction | None
) -> ConnectOffsets:
    """Open the offsets after the transaction has taken over the id: no other transaction is open then."""
    task = opening.task
    offsets = TaskOffsets(open_offsets(opening), task.connector, task.task)
    return ConnectOffsets(offsets, clients.mirror.source_alias, transaction, consumer.begin_offsets)


def _open_producer(opening: TaskOpening, clients: MirrorClients, reporter: ProgressReporter) -> OffsetTrackingProducer:
    producer = OffsetTrackingProducer(clients.target_producer(), reporter.written, reporter.records.acknowledged)
    opening.closing.callback(producer.close)
    return producer


def _open_transaction(
    opening: TaskOpening, clients: MirrorClients, reporter: ProgressReporter
) -> tuple[Transaction, list[Callable[[], None]]]:
    """Open the task's transactions on the target. Returns them and a list to which callers add checks."""
    # A list, because the positions can be opened only after the transaction, whose check must compare them.
    checks: list[Callable[[], None]] = [opening.admit]

    def check() -> None:
        for one in checks:
            one()

    settings = clients.transactional(opening.task.task)
    transaction = Transaction(
        lambda: OffsetTrackingTransactional(settings, reporter.written), check, opening.clock, keeps=opening.careful
    )
    opening.closing.callback(transaction.close)
    transaction.open()
    # After the id is taken over, as for every task with transactions (KIP-618, source task startup).
    opening.admit()
    return transaction, checks


def _checked_store(store: PositionStore, clients: MirrorClients, remote: Callable[[str], str]) -> CheckedPositionStore:
    admin = KafkaAdmin(clients.target_admin())
    return CheckedPositionStore(store, admin.end_offsets, remote, clients.group)


def _steps(opening: TaskOpening, remote: Callable[[str], str], alias: str) -> Steps:
    """Return the steps: rename the topic, then transforms, which see the target's topic name.

    The source partition and offset are set as MirrorMaker 2 sets them, so that error contexts show the origin.
    """
    config = opening.plan.config
    transforms = (applying(build_transform(step, config.predicates)) for step in config.transforms)
    origins: dict[tuple[str, int], tuple[str, dict[str, object]]] = {}

    def consumed(raw: RawRecord) -> Record:
        place = raw.topic, raw.partition
        known = origins.get(place)
        if known is None:
            origin = {"cluster": alias, "topic": raw.topic, "partition": raw.partition}
            known = origins[place] = remote(raw.topic), origin
        headers = tuple([(name, BYTES, data) for name, data in raw.headers]) if raw.headers else ()
        # By position: keyword arguments would double the cost of this line, which runs most often.
        return Record(
            known[0], raw.partition, raw.timestamp, raw.key, raw.value, BYTES, BYTES, headers,
            raw.offset, raw.timestamp_type, raw, known[1], {"offset": raw.offset},
        )  # fmt: skip

    return tuple(enumerate([consumed, *transforms]))


def _remote(clients: MirrorClients) -> Callable[[str], str]:
    """Return a cached function from a source topic to its name on the target."""
    policy, alias = policy_of(clients.mirror), clients.mirror.source_alias
    known: dict[str, str] = {}

    def remote(topic: str) -> str:
        found = known.get(topic)
        if found is None:
            known[topic] = found = policy.remote(alias, topic)
        return found

    return remote


def _topic_creator(clients: MirrorClients, known: set[str]) -> Callable[[Record], None]:
    """Return a function that creates topics set by a transform, sized like the source topic."""
    admin: list[MirrorAdmin] = []

    def ensure(record: Record) -> None:
        if record.topic in known or record.raw is None:
            return
        if not admin:
            admin.append(MirrorAdmin(clients.target_admin()))
        known.update(admin[0].topics())
        if record.topic not in known:
            size = MirrorAdmin(clients.source_admin()).topics().get(record.raw.topic, record.raw.partition + 1)
            admin[0].create(record.topic, size, int(clients.mirror.values["replication.factor"]), {})
            known.add(record.topic)

    return ensure


_reminders = CommitRefresh()  # of this process
