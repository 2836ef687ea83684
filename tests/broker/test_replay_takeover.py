"""Two senders of one replay, both alive: whatever statement one stands still before, or dies before, nothing doubles.

A sender is stopped by Django's own hook around its statements, so every point between two of them is tried in turn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from datetime import timedelta
from itertools import count
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from dlqadmin.broker import topics
from dlqadmin.broker.transactions import ChunkProducer, OutboundRecord, ProducerFenced, ProgressCommit
from dlqadmin.replays.items import item_states
from dlqadmin.replays.items.item_rows import load, token
from dlqadmin.replays.items.messages import stamped
from dlqadmin.replays.models import Chunk, LedgerEntry, Replay
from dlqadmin.replays.sending import queueing
from dlqadmin.replays.sending.sender import send_slice, unsettled
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


class Death(Halt):
    """The sender dies before the statement of this number: neither that one nor a later one is done."""

    def __init__(self, number: int) -> None:
        super().__init__(number, lambda: None)

    def __call__(self, execute: Callable[..., Any], sql: str, *rest: Any) -> Any:
        return super().__call__(self._die if self.left <= 0 else execute, sql, *rest)

    def _die(self, *_: Any) -> None:
        raise Killed


class Two:
    """A replay of three records, and the second of two senders of it, taken by hand as far as a test says."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self.replay = target.replay(list(THREE))
        self.producer: ChunkProducer | None = None

    def plan_anew(self) -> None:
        """As planned and not taken up; to be sent in chunks of one record each."""
        LedgerEntry.objects.filter(item__replay=self.replay).delete()
        self.replay.items.update(state="planned")
        item_states.created(self.replay)
        self._held().update(chunk_records=1)

    def take_over(self) -> None:
        """Hold the replay, fence, write down what is about to be done."""
        topic = self.target.name
        self._held().update(claim_token="successor", heartbeat=timezone.now(), progress_topic=topic)
        self.producer = ChunkProducer(self.replay.transactional_id)
        self.producer.fence()
        ends = {topic: {"0": topics.ends([(topic, 0)])[topic, 0]}}
        Chunk.objects.create(replay=self.replay, first=0, after=3, records=3, ends=ends, opened_at=timezone.now())

    def write(self) -> None:
        """Commit the chunk in Kafka; the database does not learn of it."""
        assert self.producer is not None
        replay = self.replay
        batch = load(replay, replay.items.all())
        records = [
            OutboundRecord(item.target_topic, None, message.key, message.value, headers)
            for item in batch
            for message in [item.message()]
            for named in [(str(replay.uuid), token(replay, item.ordinal), item.attempt, item.letter)]
            for headers in [stamped(message.headers, *named)]
        ]
        self.producer.write(records, ProgressCommit(replay.transactional_id, self.target.name, 3))

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

    def states(self) -> list[str]:
        return list(self.replay.items.order_by("ordinal").values_list("state", flat=True))

    def counted(self) -> dict[str, int]:
        """What the counters of states have come to."""
        return {state: n for state, n in self.replay.counts.values_list("state", "n") if n}

    def _held(self) -> Any:
        return Replay.objects.filter(pk=self.replay.pk)


@pytest.fixture
def target(broker: str, settings: Any) -> Target:
    settings.KAFKA_BOOTSTRAP_SERVERS = broker
    return Target(broker)


@pytest.mark.parametrize("dies", [False, True], ids=["and lives", "and dies after its commit in Kafka"])
def test_one_wakes_while_its_successor_sends(target: Target, dies: bool) -> None:
    def overtake(two: Two) -> None:
        if Chunk.objects.filter(replay=two.replay).exists():
            return  # a successor would settle it first: the next test
        two.take_over()
        if dies:
            two.write()

    tried = []
    for number, two in _points(target):
        _stands_still(two, number, overtake)
        if two.producer is None:
            break
        with suppress(ProducerFenced):
            if not dies:
                two.write()
        two.others_go_on()
        tried.append(two)
    assert _went_out(target, tried) == [(["0", "1", "2"], ["sent"] * 3)] * len(tried)


def test_one_wakes_after_its_successor_has_sent(target: Target) -> None:
    def overtake(two: Two) -> None:
        two.age()
        send_slice(two.replay.pk, "successor")

    tried = []
    for number, two in _points(target):
        stood_still = _stands_still(two, number, overtake)
        two.others_go_on()
        tried.append(two)
        if not stood_still:
            break
    assert _went_out(target, tried) == [(["0", "1", "2"], ["sent"] * 3)] * len(tried)


@pytest.mark.parametrize("cancelled", [False, True], ids=["committed in Kafka", "cancelled"])
def test_one_dies_while_it_settles_what_another_left(target: Target, cancelled: bool) -> None:
    def leave(two: Two) -> None:
        two.take_over()
        if cancelled:
            Replay.objects.filter(pk=two.replay.pk).update(status="cancelled")
        else:
            two.write()
        two.age()

    tried = _dies_everywhere(target, leave)
    expected = ([], ["skipped"] * 3) if cancelled else (["0", "1", "2"], ["sent"] * 3)
    assert _went_out(target, tried) == [expected] * len(tried)
    assert LedgerEntry.objects.count() == (0 if cancelled else 3 * len(tried))


@pytest.mark.soak  # a series of twenty deaths; those above are the short cases
def test_one_dies_while_it_takes_up_stores_and_writes_at_once(target: Target, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queueing, "SLICE", 2)
    tried = _dies_everywhere(target, Two.plan_anew)
    assert len(tried) > 20
    assert _went_out(target, tried) == [(["0", "1", "2"], ["sent"] * 3)] * len(tried)
    assert LedgerEntry.objects.count() == 3 * len(tried)
    assert not Chunk.objects.filter(state="open").exists()


@pytest.mark.soak
def test_one_wakes_with_two_chunks_open_after_its_successor_has_sent(
    target: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    def overtake(two: Two) -> None:
        two.age()
        send_slice(two.replay.pk, "successor")

    monkeypatch.setattr(queueing, "SLICE", 2)
    tried = []
    for number, two in _points(target):
        two.plan_anew()
        stood_still = _stands_still(two, number, overtake)
        two.others_go_on()
        tried.append(two)
        if not stood_still:
            break
    assert len(tried) > 20
    assert _went_out(target, tried) == [(["0", "1", "2"], ["sent"] * 3)] * len(tried)
    assert [two.counted() for two in tried] == [{"sent": 3}] * len(tried)
    assert LedgerEntry.objects.count() == 3 * len(tried)
    assert not Chunk.objects.filter(state="open").exists()


def _points(target: Target) -> Iterator[tuple[int, Two]]:
    """A replay for each point to try, until the caller stops."""
    for number in count():
        two = Two(target)
        try:
            yield number, two
        finally:
            two.close()


def _dies_everywhere(target: Target, begin: Callable[[Two], None]) -> list[Two]:
    """Begun anew each time: the sender died one statement later than the time before, and others went on."""
    tried = []
    for number, two in _points(target):
        begin(two)
        death = Death(number)
        with suppress(Killed), connection.execute_wrapper(death):
            send_slice(two.replay.pk, "dying")
        two.others_go_on()
        tried.append(two)
        if death.left >= 0:
            break
    return tried


def _went_out(target: Target, tried: Sequence[Two]) -> list[tuple[list[str], list[str]]]:
    """For each point: the ordinals that are in the topic, and the states of the items."""
    tokens = [(record.header(ITEM) or b"").decode().partition("/") for record in target.records()]
    return [([last for uuid, _, last in tokens if uuid == str(two.replay.uuid)], two.states()) for two in tried]


def _stands_still(two: Two, number: int, meanwhile: Callable[[Two], None]) -> bool:
    """Send, with a halt before the statement of this number; False if the sender was through before."""
    halt = Halt(number, lambda: meanwhile(two))
    with connection.execute_wrapper(halt):
        send_slice(two.replay.pk, "first")
    return halt.left < 0
