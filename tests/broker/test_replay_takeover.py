"""Two senders of one replay, both alive: whatever statement one stands still before, or dies before, nothing doubles.

A sender is stopped by Django's own hook around its statements, so every point between two of them is tried in turn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import timedelta
from itertools import count
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from dlqadmin.broker import topics
from dlqadmin.broker.producing import ChunkProducer, Fenced, Outbound, Progress
from dlqadmin.replays.messages import outgoing, stamped
from dlqadmin.replays.models import Chunk, ItemState, LedgerEntry, Replay
from dlqadmin.replays.replaying import send_slice, unsettled
from engine.record.replay import ITEM
from tests.broker.test_replay_bytes import Target

pytestmark = pytest.mark.django_db
THREE = [(b"%d" % n, b"v", ()) for n in range(3)]
LONG_AGO = timedelta(minutes=1)


class Killed(BaseException):
    """What a test does to a sender; nothing catches it."""


class Halt:
    """Acts before a sender's statement of this number, not counting those inside transactions.

    Who waits inside a transaction makes all others wait: nothing can happen to them meanwhile.
    """

    def __init__(self, number: int, act: Callable[[], None]) -> None:
        self.left, self.act = number, act
        self.depth = len(connection.savepoint_ids)

    def __call__(self, execute: Callable[..., Any], sql: str, *rest: Any) -> Any:
        if len(connection.savepoint_ids) == self.depth:
            self.left -= 1
            if self.left == -1:
                self.act()
        return execute(sql, *rest)


class Killing:
    """A sender's statement of this number fails, and all after it; what Django undoes then is undone."""

    def __init__(self, number: int) -> None:
        self.left = number

    def __call__(self, execute: Callable[..., Any], sql: str, *rest: Any) -> Any:
        self.left -= 1
        if self.left < 0 and not sql.startswith(("ROLLBACK TO", "RELEASE")):
            raise Killed
        return execute(sql, *rest)


class Successor:
    """A second sender of a replay of three records, taken by hand as far as a test says."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self.replay = target.replay(list(THREE))
        self.before = len(target.records())
        self.producer: ChunkProducer | None = None

    def take_over(self) -> None:
        """Hold the replay, fence, write down what is about to be done."""
        topic = self.target.name
        self._held().update(sender="successor", heartbeat=timezone.now(), progress_topic=topic)
        self.producer = ChunkProducer(self.replay.transactional_id)
        self.producer.fence()
        ends = {topic: {"0": topics.ends([(topic, 0)])[topic, 0]}}
        Chunk.objects.create(replay=self.replay, first=0, after=3, ends=ends, opened_at=timezone.now())
        self.replay.items.update(state=ItemState.SENDING)

    def write(self) -> None:
        """Commit the chunk in Kafka; the database does not learn of it."""
        assert self.producer is not None
        replay = self.replay
        batch = replay.items.select_related("dead_letter__body", "replay").order_by("ordinal")
        records = [
            Outbound(item.target_topic, None, message.key, message.value, headers)
            for item in batch
            for message in [outgoing(item)]
            for headers in [stamped(message.headers, str(replay.uuid), item.token, item.attempt)]
        ]
        self.producer.write(records, Progress(replay.transactional_id, self.target.name, 3))

    def others_go_on(self) -> None:
        """What the sweep and the workers do, once the senders are taken for dead."""
        for _ in range(6):
            self.age()
            if unsettled(self._held()).exists():
                send_slice(self.replay.pk, "next")

    def age(self) -> None:
        self._held().update(heartbeat=timezone.now() - LONG_AGO)

    def close(self) -> None:
        if self.producer is not None:
            self.producer.close()

    def tokens(self) -> list[str]:
        records = self.target.records()[self.before :]
        return [(record.header(ITEM) or b"").decode().rpartition("/")[2] for record in records]

    def states(self) -> list[str]:
        return list(self.replay.items.order_by("ordinal").values_list("state", flat=True))

    def _held(self) -> Any:
        return Replay.objects.filter(pk=self.replay.pk)


@pytest.fixture
def target(broker: str, settings: Any) -> Target:
    settings.KAFKA_BOOTSTRAP_SERVERS = broker
    return Target(broker)


@pytest.mark.parametrize("dies", [False, True], ids=["and lives", "and dies after its commit in Kafka"])
def test_one_wakes_while_its_successor_sends(target: Target, dies: bool) -> None:
    def overtake(two: Successor) -> None:
        if Chunk.objects.filter(replay=two.replay).exists():
            return  # a successor would settle it first: the next test
        two.take_over()
        if dies:
            two.write()

    for two, number in _points(target):
        _stands_still(two, number, overtake)
        if two.producer is None:
            break
        with suppress(Fenced):
            if not dies:
                two.write()
        two.others_go_on()
        assert (number, two.tokens(), two.states()) == (number, ["0", "1", "2"], ["sent"] * 3)


def test_one_wakes_after_its_successor_has_sent(target: Target) -> None:
    def overtake(two: Successor) -> None:
        two.age()
        send_slice(two.replay.pk, "successor")

    for two, number in _points(target):
        stood_still = _stands_still(two, number, overtake)
        two.others_go_on()
        assert (number, two.tokens(), two.states()) == (number, ["0", "1", "2"], ["sent"] * 3)
        if not stood_still:
            break


@pytest.mark.parametrize("written", [False, True])
@pytest.mark.parametrize("status", ["running", "cancelled"])
def test_one_dies_while_it_settles_what_another_left(target: Target, status: str, written: bool) -> None:
    sent = status == "running" or written
    for two, number in _points(target):
        two.take_over()
        if written:
            two.write()
        Replay.objects.filter(pk=two.replay.pk).update(status=status)
        two.age()
        killing = Killing(number)
        with suppress(Killed), connection.execute_wrapper(killing):
            send_slice(two.replay.pk, "dying")
        two.others_go_on()
        assert (number, two.tokens(), two.states()) == (
            (number, ["0", "1", "2"], ["sent"] * 3) if sent else (number, [], ["skipped"] * 3)
        )
        assert LedgerEntry.objects.filter(item__replay=two.replay).count() == (3 if sent else 0)
        if killing.left >= 0:
            break


def _points(target: Target) -> Iterator[tuple[Successor, int]]:
    """A replay for each point to try, until the caller stops."""
    for number in count():
        two = Successor(target)
        try:
            yield two, number
        finally:
            two.close()


def _stands_still(two: Successor, number: int, meanwhile: Callable[[Successor], None]) -> bool:
    """Send, with a halt before the statement of this number; False if the sender was through before."""
    halt = Halt(number, lambda: meanwhile(two))
    with connection.execute_wrapper(halt):
        send_slice(two.replay.pk, "first")
    return halt.left < 0
