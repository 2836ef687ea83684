"""A mirror's task, made from its plan (KIP-656): a sink's, its consumer on one cluster, its producer on another."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass

from msgspec.structs import replace

from engine.assembly.clients import Opening, build_guard, flush_outcomes, open_replay_reporter
from engine.assembly.letters import open_dead_letters
from engine.assembly.mirror_clients import MirrorClients, keeps_stand_in, mirror_clients
from engine.assembly.mirror_reminders import Reminders
from engine.assembly.mirror_telling import Telling
from engine.assembly.source_offsets import open_offsets
from engine.config.mirror import SINK
from engine.errors import ClusterAway, RetriableError
from engine.exactly_once.transaction import Transaction
from engine.kafka.admin import KafkaAdmin
from engine.kafka.consumer import KafkaConsumer
from engine.kafka.mirror.admin import MirrorAdmin
from engine.kafka.mirror.assignment import assigned
from engine.kafka.mirror.clients import MirrorConsumer, TellingProducer, TellingTransactional
from engine.kafka.mirror.naming import policy_of
from engine.kafka.mirror.positions import ConnectOffsets, MirrorCommit, NeverAnew, StandIn
from engine.kafka.mirror.put import MirrorPut
from engine.kafka.offsets import TaskOffsets
from engine.leases import Delivery
from engine.pipeline.chain import Steps, applying
from engine.pipeline.claim import PositionStore, claim_positions
from engine.pipeline.commit import GroupStore, flush_letters, with_metadata
from engine.pipeline.open_task import OpenTask
from engine.pipeline.sink_task import SinkTask
from engine.ports import Producer
from engine.record.record import RawRecord, Record
from engine.record.schema import BYTES
from engine.steps.registry import build_transform

log = logging.getLogger(__name__)

REACH_TIMEOUT_S = 5.0  # for the source: the lease's other tasks wait meanwhile
IDLE_MS = 1000  # how long after the end of the source was reached there may be something new


class MirrorTask(SinkTask):
    """A sink's task that says itself when it is to run again: the herder doesn't see the ends of another cluster."""

    def wake_at(self) -> int:  # type: ignore[override]
        return self.clock.now_ms() + IDLE_MS


@dataclass(frozen=True, slots=True)
class Writing:
    """Where the records go, and where it is written down how far they went."""

    producer: Producer
    store: PositionStore
    transaction: Transaction | None


def open_mirror(opening: Opening) -> OpenTask:
    """Claim the task's partitions and open its clients."""
    clients = mirror_clients(opening.plan.config, opening.worker)
    remote = _remote(clients)
    consumer = _open_consumer(opening, clients)
    telling = Telling(clients, consumer, remote, opening.clock)
    opening.closing.callback(telling.close)
    writing = _open_writing(opening, clients, consumer, telling, remote)
    task = replace(opening.task, partitions=assigned(opening.task.config), has_committed=False)
    positions, state = claim_positions(task, opening.plan.stages, consumer, writing.store)
    if clients.mirror.type == SINK and _reminders.is_due((opening.worker.group_id, clients.group, task.task)):
        writing.store.remember(with_metadata(positions, state.to_metadata()))
    inside = writing.transaction if clients.is_on_workers_cluster else None
    letters = open_dead_letters(opening, state, inside)
    replayed = open_replay_reporter(opening, inside)
    put = MirrorPut(
        writing.producer,
        _maker(clients, {remote(at.topic) for at in positions}),
        telling.spans,
        flushes=opening.careful,
    )
    commit = MirrorCommit(
        writing.store,
        writing.transaction,
        put.flush,
        lambda: flush_letters(letters, state),
        lambda: flush_outcomes(replayed),
        telling.committed,
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
    return OpenTask(opening.task, running, opening.plan.tolerance, opening.closing.close, opening.careful)


def _open_consumer(opening: Opening, clients: MirrorClients) -> MirrorConsumer:
    """The consumer of the source. A source that is away is waited for once a lease."""
    settings = clients.source_consumer()
    cluster = settings["bootstrap.servers"]
    reason = f"the source cluster {clients.mirror.source_alias} does not answer at {cluster}"
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
    opening: Opening, clients: MirrorClients, consumer: MirrorConsumer, telling: Telling, remote: Callable[[str], str]
) -> Writing:
    """The producer of the target and the store of positions, which a transaction holds together where there is one."""
    once = opening.plan.delivery is Delivery.EXACTLY_ONCE
    if keeps_stand_in(clients.mirror):
        transaction, check = _open_transaction(opening, clients, telling)
        reader = KafkaConsumer(clients.target_reader())
        opening.closing.callback(reader.close)
        stand_in = StandIn(reader, transaction, clients.group, remote)
        check.append(stand_in.check)
        return Writing(transaction, _never_anew(stand_in, clients, remote), transaction)
    if clients.mirror.type == SINK:
        store = _never_anew(GroupStore(consumer), clients, remote)
        return Writing(_open_producer(opening, clients, telling), store, None)
    if once:
        transaction, check = _open_transaction(opening, clients, telling)
        offsets = _connect_offsets(opening, clients, consumer, transaction)
        check.append(offsets.check)
        return Writing(transaction, offsets, transaction)
    return Writing(_open_producer(opening, clients, telling), _connect_offsets(opening, clients, consumer, None), None)


def _connect_offsets(
    opening: Opening, clients: MirrorClients, consumer: MirrorConsumer, transaction: Transaction | None
) -> ConnectOffsets:
    """Read after the transaction has taken the id over: then nobody else's is open any more."""
    task = opening.task
    offsets = TaskOffsets(open_offsets(opening), task.connector, task.task)
    return ConnectOffsets(offsets, clients.mirror.source_alias, transaction, consumer.begin_offsets)


def _open_producer(opening: Opening, clients: MirrorClients, telling: Telling) -> TellingProducer:
    producer = TellingProducer(clients.target_producer(), telling.written)
    opening.closing.callback(producer.close)
    return producer


def _open_transaction(
    opening: Opening, clients: MirrorClients, telling: Telling
) -> tuple[Transaction, list[Callable[[], None]]]:
    """The task's transactions on the target, its id taken over; and the list of checks that are still to be added."""
    checks: list[Callable[[], None]] = [opening.admit]

    def check() -> None:
        for one in checks:
            one()

    settings = clients.transactional(opening.task.task)
    transaction = Transaction(
        lambda: TellingTransactional(settings, telling.written), check, opening.clock, keeps=opening.careful
    )
    opening.closing.callback(transaction.close)
    transaction.open()
    opening.admit()
    return transaction, checks


def _never_anew(store: PositionStore, clients: MirrorClients, remote: Callable[[str], str]) -> NeverAnew:
    admin = KafkaAdmin(clients.target_admin())
    return NeverAnew(store, admin.end_offsets, remote, clients.group)


def _steps(opening: Opening, remote: Callable[[str], str], alias: str) -> Steps:
    """Renaming, then transforms: they see the topic as it is called on the target.

    Where a record comes from is told as MirrorMaker 2 does, for whoever reads its error context.
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
        # By position: keywords would double the cost of the hottest line.
        return Record(
            known[0], raw.partition, raw.timestamp, raw.key, raw.value, BYTES, BYTES, headers,
            raw.offset, raw.timestamp_type, raw, known[1], {"offset": raw.offset},
        )  # fmt: skip

    return tuple(enumerate([consumed, *transforms]))


def _remote(clients: MirrorClients) -> Callable[[str], str]:
    """What a topic of the source is called on the target; asked once for each."""
    policy, alias = policy_of(clients.mirror), clients.mirror.source_alias
    known: dict[str, str] = {}

    def remote(topic: str) -> str:
        found = known.get(topic)
        if found is None:
            known[topic] = found = policy.remote(alias, topic)
        return found

    return remote


def _maker(clients: MirrorClients, known: set[str]) -> Callable[[Record], None]:
    """Topics that a transform thought of are made like those of their records; those that are `known` are there."""
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


_reminders = Reminders()  # of this process
