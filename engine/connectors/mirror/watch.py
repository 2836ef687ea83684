"""The driver's work for a mirror beside its tasks: topics, task configurations, heartbeats and groups.

It touches no records. All of it can be repeated, so the next leader continues from the state of the clusters.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial

from engine.connectors.mirror.assignment import known_partitions, task_configs
from engine.connectors.mirror.client_options import MirrorClients
from engine.connectors.mirror.cluster_admin import MirrorAdmin
from engine.connectors.mirror.groups import GroupFollower
from engine.connectors.mirror.offset_sync import OffsetSyncStore, parse_sync
from engine.connectors.mirror.records import Checkpoint, checkpoints_topic, heartbeat, parse_checkpoint, syncs_topic
from engine.connectors.mirror.topics import TargetTopics
from engine.errors import EngineError, ProduceFailed, RetriableError
from engine.kafka.client_options import consumer_settings
from engine.kafka.consumer import KafkaConsumer, TopicReader
from engine.kafka.producer import KafkaProducer
from engine.record.record import RawRecord, TopicPartition
from engine.reporting.checkpoints import CheckpointMetrics

log = logging.getLogger(__name__)
COMPACTED = {"cleanup.policy": "compact"}
POLL_RECORDS = 2000
READ_TIMEOUT_S = 30


class MirrorWatch:
    """The watch of one mirror, on its own thread; `look` is called again after `pause_s`."""

    pause_s = 1.0  # the shortest configurable interval

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
        self._problems: dict[str, str] = {}
        self._producer: KafkaProducer | None = None
        self._following: OffsetSyncFollower | None = None
        self.checkpoints = CheckpointMetrics(self._mirror.source_alias, self._mirror.target_alias)

    def look(self, current: Sequence[Mapping[str, str]]) -> list[dict[str, str]]:
        """Return the properties to add for each task; `current` are the tasks' present properties.

        Raises RetriableError if a cluster that it needs does not answer.
        """
        on = self._mirror.values
        self._call_when_due("refresh.topics", self._topics.refresh, enabled=on["refresh.topics.enabled"], first=True)
        self._run_side_work("internal topics", self._make_own_topics)
        self._run_side_work("configurations", self._sync_configs)
        self._run_side_work("heartbeats", self._emit_heartbeat)
        self._run_side_work("groups", self._follow_groups)
        # Partitions that are invisible at the moment stay with their tasks.
        wanted = self._topics.wanted(known_partitions(current))
        return task_configs({*self._topics.partitions, *wanted}, self._clients.connector.tasks_max)

    def close(self) -> None:
        for one in (self._producer, self._following):
            if one is not None:
                with suppress(EngineError):
                    one.close()

    def _run_side_work(self, part: str, call: Callable[[], None]) -> None:
        """Do work that no task waits for; its failure is logged once and retried by the next look."""
        try:
            call()
        except EngineError as error:
            if self._problems.get(part) != str(error):
                log.warning("Mirror %s can't update its %s: %s", self._clients.connector.name, part, error)
            self._problems[part] = str(error)
        else:
            self._problems.pop(part, None)

    def _sync_configs(self) -> None:
        on = self._mirror.values["sync.topic.configs.enabled"]
        self._call_when_due("sync.topic.configs", self._topics.sync_configs, enabled=on)

    def _emit_heartbeat(self) -> None:
        self._call_when_due(
            "emit.heartbeats", self._write_heartbeat, enabled=self._mirror.values["emit.heartbeats.enabled"]
        )

    def _follow_groups(self) -> None:
        on = self._mirror.values
        emits, syncs = on["emit.checkpoints.enabled"], on["sync.group.offsets.enabled"]
        # Without offset syncs, nothing can be translated.
        if not (emits or syncs) or not on["emit.offset-syncs.enabled"]:
            return
        self._following = self._following or OffsetSyncFollower(self._clients, self._source, self._target)
        following = self._following
        following.read()
        self._call_when_due(
            "refresh.groups", following.groups.refresh, enabled=on["refresh.groups.enabled"], first=True
        )
        self._call_when_due("emit.checkpoints", partial(self._checkpoint, following.groups, emits=emits), enabled=True)
        self._call_when_due("sync.group.offsets", following.groups.sync, enabled=syncs)

    def _checkpoint(self, groups: GroupFollower, *, emits: bool) -> None:
        begun_ms = self._now_ms()
        news = groups.look(self._topics.partitions, self._topics.names)
        if emits and news:
            self._write(checkpoints_topic(self._mirror), [one.row() for one in news])
            now_ms = self._now_ms()
            places = [(one.group, one.partition) for one in news]
            self.checkpoints = self.checkpoints.with_written(places, now_ms - begun_ms, now_ms)
        # Only after the write: a checkpoint that was not written is found to be new again.
        groups.note_written(news)

    def _write_heartbeat(self) -> None:
        row = heartbeat(self._mirror.source_alias, self._mirror.target_alias, self._now_ms())
        self._write(self._mirror.values["heartbeats.topic"], [row])

    def _make_own_topics(self) -> None:
        if self._made:
            return
        on, target_topics = self._mirror.values, self._target.topics()
        for wanted, topic, option in (
            (on["emit.heartbeats.enabled"], on["heartbeats.topic"], "heartbeats.topic"),
            (on["emit.checkpoints.enabled"], checkpoints_topic(self._mirror), "checkpoints.topic"),
        ):
            if wanted and topic not in target_topics:
                self._target.create(topic, 1, int(on[f"{option}.replication.factor"]), COMPACTED)
        syncs = syncs_topic(self._mirror)
        if on["emit.offset-syncs.enabled"] and syncs not in self._source.topics():
            self._source.create(syncs, 1, int(on["offset-syncs.topic.replication.factor"]), COMPACTED)
        self._made = True

    def _write(self, topic: str, rows: Sequence[tuple[bytes, bytes]]) -> None:
        """Write to one of the mirror's own topics; the next look repeats a failed write."""
        self._producer = self._producer or KafkaProducer(self._clients.target_small_producer())
        for key, value in rows:
            self._producer.produce(topic, key, value, partition=0)
        try:
            self._producer.flush()
        except ProduceFailed as error:
            raise RetriableError(f"can't write records to topic {topic} of the target cluster: {error}") from error

    def _call_when_due(self, what: str, call: Callable[[], object], *, enabled: bool, first: bool = False) -> None:
        """Call when it is due; a failed call is repeated soon. `first`: call once even if it is disabled."""
        now = self._now_ms()
        if (enabled or (first and what not in self._due)) and now >= self._due.get(what, 0):
            call()
            self._due[what] = now + self._mirror.seconds(what)


class OffsetSyncFollower:
    """The offset syncs of a mirror, read continuously, and the groups translated with them."""

    def __init__(self, clients: MirrorClients, source: MirrorAdmin, target: MirrorAdmin) -> None:
        self._store = OffsetSyncStore()
        self._at = TopicPartition(syncs_topic(clients.mirror), 0)
        self._consumer = TopicReader(clients.source_reader(f"{clients.group}-syncs"))
        self.groups = GroupFollower(clients.mirror, source, target, self._store)
        try:
            self._load_checkpoints(clients)
            self._fold(read_whole(self._consumer, self._at))
        except BaseException:  # also when the worker is told to end: its consumer must not stay open
            self._consumer.close()
            raise
        self._store.started()

    def read(self) -> None:
        """Read new syncs."""
        while records := self._consumer.poll(POLL_RECORDS, 0):
            self._fold(records)

    def close(self) -> None:
        self._consumer.close()

    def _fold(self, records: Sequence[RawRecord]) -> None:
        for sync in (parse_sync(record.key, record.value) for record in records):
            if sync is not None:
                self._store.add(sync)

    def _load_checkpoints(self, clients: MirrorClients) -> None:
        """Load the checkpoints of earlier leaders, so that ours never fall behind them."""
        for checkpoint in written_checkpoints(clients):
            self.groups.checkpoints[checkpoint.group, checkpoint.partition] = checkpoint


def written_checkpoints(clients: MirrorClients) -> list[Checkpoint]:
    """Return the last checkpoint of each group and partition on the target."""
    at = TopicPartition(checkpoints_topic(clients.mirror), 0)
    if at.topic not in MirrorAdmin(clients.target_admin()).topics():
        return []
    consumer = TopicReader(consumer_settings(f"{clients.group}-checkpoints", clients.target_reader()))
    try:
        checkpoints = {row.key: parse_checkpoint(row.key, row.value) for row in read_whole(consumer, at)}
    finally:
        consumer.close()
    return [one for one in checkpoints.values() if one is not None]


def read_whole(consumer: KafkaConsumer, at: TopicPartition) -> list[RawRecord]:
    """Return all records of a partition. Raises RetriableError if they can't be read in time."""
    consumer.assign(consumer.begin_offsets([at]))
    end = consumer.end_offsets([at])[at]
    late = time.monotonic() + READ_TIMEOUT_S
    records: list[RawRecord] = []
    while consumer.positions()[at] < end:
        records += consumer.poll(POLL_RECORDS, 0.1)
        if time.monotonic() > late:
            raise RetriableError(f"can't read topic {at.topic} to its end within the time limit")
    return records
