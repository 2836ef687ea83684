"""Create missing topics of a source before the first record is written to them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from engine.config.errors_policy import topic_name
from engine.config.topic_creation import NewTopics, group_of
from engine.ports import Admin
from engine.record.record import Record


class TopicMaker:
    """Creates topics; checks each topic once. `open_admin` is called only for the first one."""

    def __init__(self, open_admin: Callable[[], Admin], groups: Sequence[NewTopics]) -> None:
        self._open_admin = open_admin
        self._groups = tuple(groups)
        self._admin: Admin | None = None
        self._known: set[str] = set()

    def ensure(self, record: Record) -> Record:
        """Create the record's topic if needed and return the record; brokers judge illegal names."""
        if record.topic not in self._known:
            self._make(record.topic)
        return record

    def _make(self, topic: str) -> None:
        group = group_of(self._groups, topic) if topic and topic_name(topic) is None else None
        if group is not None:
            self._admin = self._admin or self._open_admin()
            self._admin.create_topic(topic, group.partitions, group.replication_factor, group.config)
        self._known.add(topic)
