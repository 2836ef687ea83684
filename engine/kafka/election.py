"""The Election port: drivers subscribe to the config topic in one group; the owner of its partition 0 leads.

The assignor is cooperative and sticky, so that the leader stays the same when another driver joins.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping

import confluent_kafka as ck

from engine.errors import EngineError
from engine.kafka.errors import NeededRights, translated
from engine.kafka.group_rights import group_refusal

log = logging.getLogger(__name__)

ANSWER_S = 5.0  # a group answers a new member sooner
MEMBER_OPTIONS = {
    "partition.assignment.strategy": "cooperative-sticky",
    "enable.auto.commit": "false",
    "enable.partition.eof": "false",
}


class KafkaElection:
    """A member of the drivers' group; `settings` are a consumer's, with the group id. It reads no records."""

    def __init__(self, settings: Mapping[str, str], topic: str) -> None:
        with translated():
            self._client = ck.Consumer({**settings, **MEMBER_OPTIONS})
        self._settings = dict(settings)
        self._topic = topic
        self._needs = NeededRights(topic=f"Read on topic {topic}", group=f"Read on group {settings['group.id']}")
        self._subscribed = False
        self._owns = False
        self._answered = False  # the group has given this member an assignment, or the brokers were asked why not
        self._begun_s = 0.0
        self._refused: EngineError | None = None  # the right to join the group is missing

    def is_elected(self) -> bool:
        with translated():
            if not self._subscribed:
                self._client.subscribe(
                    # `on_lost`: the group excluded a member that was silent for too long, and did not ask it to revoke.
                    [self._topic],
                    on_assign=self._assigned,
                    on_revoke=self._revoked,
                    on_lost=self._revoked,
                )
                self._subscribed = True
                self._begun_s = time.monotonic()
            # `poll` runs the callbacks of a rebalance. A member that stops polling is excluded from the group.
            while (message := self._client.poll(0)) is not None:
                if (error := message.error()) is not None:
                    log.debug("the drivers' consumer group: %s", error)
        self._check_rights()
        return self._owns

    def confirms(self) -> bool:
        """Confirm the leadership with a commit: brokers refuse it if our membership or group generation is outdated."""
        try:
            with translated(needs=self._needs):
                # The offset has no meaning. The call counts: brokers check it against the group's current generation.
                self._client.commit(offsets=[ck.TopicPartition(self._topic, 0, 0)], asynchronous=False)
        except EngineError as error:
            log.warning("the brokers did not confirm that this driver leads: %s", error)
            return False
        return self.is_elected()

    def close(self) -> None:
        self._owns = False
        with translated():
            self._client.close()

    def _check_rights(self) -> None:
        """Raise the same error for ever without the right to join the group. This driver would only stand by."""
        if not self._answered and time.monotonic() > self._begun_s + ANSWER_S:
            self._answered = True
            self._refused = group_refusal(self._settings, self._settings["group.id"], "Read")
        if self._refused is not None:
            raise self._refused

    def _assigned(self, client: ck.Consumer, partitions: list[ck.TopicPartition]) -> None:
        client.incremental_assign(partitions)
        # This client never reads. The config topic has a reader of its own, which starts at its beginning.
        client.pause(partitions)
        # A cooperative assignment lists only the added partitions, so an empty one takes nothing away.
        self._owns = self._owns or bool(partitions)
        self._answered, self._refused = True, None

    def _revoked(self, client: ck.Consumer, partitions: list[ck.TopicPartition]) -> None:
        client.incremental_unassign(partitions)
        # A cooperative rebalance may revoke nothing, which is not a loss.
        if partitions:
            self._owns = False
