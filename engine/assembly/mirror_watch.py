"""What the driver does for a mirror, beside its tasks: topics and tasks, configurations, heartbeats, groups.

None of it is on a record's way. All of it can be repeated, and the next leader goes on with what the clusters say.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial

from engine.assembly.mirror_clients import MirrorClients
from engine.errors import EngineError, ProduceFailed, RetriableError
from engine.kafka.consumer import KafkaConsumer
from engine.kafka.mirror.admin import MirrorAdmin
from engine.kafka.mirror.assignment import known_partitions, task_configs
from engine.kafka.mirror.groups import GroupFollower
from engine.kafka.mirror.offset_sync import OffsetSyncStore, parse_sync
from engine.kafka.mirror.records import Checkpoint, checkpoints_topic, heartbeat, parse_checkpoint, syncs_topic
from engine.kafka.mirror.topics import TargetTopics
from engine.kafka.producer import KafkaProducer
from engine.kafka.settings import consumer_settings
from engine.record.record import RawRecord, TopicPartition

log = logging.getLogger(__name__)
COMPACTED = {"cleanup.policy": "compact"}
POLL_RECORDS = 2000
READ_TIMEOUT_S = 30


class MirrorWatch:
    """One mirror, watched in a thread of its own; `look` is called again after `pause_s`."""

    pause_s = 1.0  # the shortest interval that there is

    def __init__(self, clients: MirrorClients, now_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000) -> None:
        worker = clients.worker
        own = (worker.config_topic, worker.offset_topic, worker.status_topic, worker.outcome_topic)
        self._clients = clients
        self._mirror = clients.mirror
        self._now_ms = now_ms
        self._source = MirrorAdmin(clients.source_admin())
        self._target = MirrorAdmin(clients.target_admin())
        self._topics = TargetTopics(
            self._mirror, self._source, self._target, own if clients.is_on_workers_cluster else ()
        )
        self._due: dict[str, int] = {}
        self._made = False
        self._troubles: dict[str, str] = {}
        self._producer: KafkaProducer | None = None
        self._following: Following | None = None

    def look(self, current: Sequence[Mapping[str, str]]) -> list[dict[str, str]]:
        """What each task is to add to the properties; `current` are the properties of the tasks as they are.

        Raises RetriableError where a cluster does not answer that it must know of.
        """
        on = self._mirror.values
        self._at_times("refresh.topics", self._topics.refresh, enabled=on["refresh.topics.enabled"], first=True)
        self._tell("its own topics", self._make_own_topics)
        self._tell("configurations", self._sync_configs)
        self._tell("heartbeats", self._beat)
        self._tell("groups", self._follow_groups)
        kept = self._topics.wanted(known_partitions(current))
        return task_configs({*self._topics.partitions, *kept}, self._clients.connector.tasks_max)

    def close(self) -> None:
        for one in (self._producer, self._following):
            if one is not None:
                with suppress(EngineError):
                    one.close()

    def _tell(self, part: str, call: Callable[[], None]) -> None:
        """Do what no task waits for: its trouble is told once, and it is tried again by the next look."""
        try:
            call()
        except EngineError as error:
            if self._troubles.get(part) != str(error):
                log.warning("mirror %s, %s: %s", self._clients.connector.name, part, error)
            self._troubles[part] = str(error)
        else:
            self._troubles.pop(part, None)

    def _sync_configs(self) -> None:
        on = self._mirror.values["sync.topic.configs.enabled"]
        self._at_times("sync.topic.configs", self._topics.sync_configs, enabled=on)

    def _beat(self) -> None:
        self._at_times("emit.heartbeats", self._write_heartbeat, enabled=self._mirror.values["emit.heartbeats.enabled"])

    def _follow_groups(self) -> None:
        on = self._mirror.values
        emits, syncs = on["emit.checkpoints.enabled"], on["sync.group.offsets.enabled"]
        if not (emits or syncs) or not on["emit.offset-syncs.enabled"]:
            return
        self._following = self._following or Following(self._clients, self._source, self._target)
        following = self._following
        following.read()
        self._at_times("refresh.groups", following.groups.refresh, enabled=on["refresh.groups.enabled"], first=True)
        self._at_times("emit.checkpoints", partial(self._checkpoint, following.groups, emits=emits), enabled=True)
        self._at_times("sync.group.offsets", following.groups.sync, enabled=syncs)

    def _checkpoint(self, groups: GroupFollower, *, emits: bool) -> None:
        news = groups.look(self._topics.partitions, self._topics.names)
        if emits and news:
            self._write(checkpoints_topic(self._mirror), [one.row() for one in news])
        groups.take(news)

    def _write_heartbeat(self) -> None:
        row = heartbeat(self._mirror.source_alias, self._mirror.target_alias, self._now_ms())
        self._write(self._mirror.values["heartbeats.topic"], [row])

    def _make_own_topics(self) -> None:
        if self._made:
            return
        on, there = self._mirror.values, self._target.topics()
        for wanted, topic, option in (
            (on["emit.heartbeats.enabled"], on["heartbeats.topic"], "heartbeats.topic"),
            (on["emit.checkpoints.enabled"], checkpoints_topic(self._mirror), "checkpoints.topic"),
        ):
            if wanted and topic not in there:
                self._target.create(topic, 1, int(on[f"{option}.replication.factor"]), COMPACTED)
        syncs = syncs_topic(self._mirror)
        if on["emit.offset-syncs.enabled"] and syncs not in self._source.topics():
            self._source.create(syncs, 1, int(on["offset-syncs.topic.replication.factor"]), COMPACTED)
        self._made = True

    def _write(self, topic: str, rows: Sequence[tuple[bytes, bytes]]) -> None:
        """Write to a topic of the mirror's own; what fails is written again by the next look."""
        self._producer = self._producer or KafkaProducer(self._clients.target_small_producer())
        for key, value in rows:
            self._producer.produce(topic, key, value, partition=0)
        try:
            self._producer.flush()
        except ProduceFailed as error:
            raise RetriableError(f"the target took no records of topic {topic}: {error}") from error

    def _at_times(self, what: str, call: Callable[[], object], *, enabled: bool, first: bool = False) -> None:
        """Do it when it is time, and soon again where it fails. `first`: once, even where it is not enabled."""
        now = self._now_ms()
        if (enabled or (first and what not in self._due)) and now >= self._due.get(what, 0):
            call()
            self._due[what] = now + self._mirror.seconds(what)


class Following:
    """The offset syncs of a mirror, read as they come, and the groups that are translated by them."""

    def __init__(self, clients: MirrorClients, source: MirrorAdmin, target: MirrorAdmin) -> None:
        self._store = OffsetSyncStore()
        self._at = TopicPartition(syncs_topic(clients.mirror), 0)
        self._consumer = KafkaConsumer(clients.source_reader(f"{clients.group}-syncs"))
        self.groups = GroupFollower(clients.mirror, source, target, self._store)
        try:
            self._recall(clients)
            self._fold(read_whole(self._consumer, self._at))
        except BaseException:
            self._consumer.close()
            raise
        self._store.started()

    def read(self) -> None:
        """Take in what was written since."""
        while records := self._consumer.poll(POLL_RECORDS, 0):
            self._fold(records)

    def close(self) -> None:
        self._consumer.close()

    def _fold(self, records: Sequence[RawRecord]) -> None:
        for sync in (parse_sync(record.key, record.value) for record in records):
            if sync is not None:
                self._store.add(sync)

    def _recall(self, clients: MirrorClients) -> None:
        """The checkpoints that another leader wrote: none of ours goes back behind them."""
        for checkpoint in written_checkpoints(clients):
            self.groups.checkpoints[checkpoint.group, checkpoint.partition] = checkpoint


def written_checkpoints(clients: MirrorClients) -> list[Checkpoint]:
    """The last checkpoint of each group and partition, as the target has them."""
    at = TopicPartition(checkpoints_topic(clients.mirror), 0)
    if at.topic not in MirrorAdmin(clients.target_admin()).topics():
        return []
    consumer = KafkaConsumer(consumer_settings(f"{clients.group}-checkpoints", clients.target_reader()))
    try:
        found = {row.key: parse_checkpoint(row.key, row.value) for row in read_whole(consumer, at)}
    finally:
        consumer.close()
    return [one for one in found.values() if one is not None]


def read_whole(consumer: KafkaConsumer, at: TopicPartition) -> list[RawRecord]:
    """All records of a partition. Raises RetriableError where they don't come."""
    consumer.assign(consumer.begin_offsets([at]))
    end = consumer.end_offsets([at])[at]
    late = time.monotonic() + READ_TIMEOUT_S
    records: list[RawRecord] = []
    while consumer.positions()[at] < end:
        records += consumer.poll(POLL_RECORDS, 0.1)
        if time.monotonic() > late:
            raise RetriableError(f"topic {at.topic} could not be read to its end")
    return records
