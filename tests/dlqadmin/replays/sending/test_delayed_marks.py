"""When the dead letters of what was sent say so."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from dlqadmin.deadletters.models import DeadLetter
from dlqadmin.replays.items import item_states
from dlqadmin.replays.models import Chunk, ItemState, Replay, ReplayItem, Selection
from dlqadmin.replays.sending import delayed_marks, sender
from tests.dlqadmin.deadletters.letters import NOW, index, letter

pytestmark = [pytest.mark.django_db, pytest.mark.sql]
OLD, YOUNG = timedelta(minutes=1), timedelta(seconds=1)


@pytest.fixture
def replay(monkeypatch: pytest.MonkeyPatch) -> Replay:
    """Six records were sent in chunks of two, the first of them a minute ago, the others just now; one more is left."""
    monkeypatch.setattr(delayed_marks, "FEW", 5)
    monkeypatch.setattr(sender, "FEW", 5)
    index([letter(number) for number in range(7)])
    selection = Selection.objects.create(created_at=NOW, filters={}, title="s", watermark=1, count=7, digest="d")
    now = timezone.now()
    made = Replay.objects.create(
        selection=selection, title="s", planned_at=NOW, created_at=NOW, progress=6, heartbeat=now, status="watching"
    )
    for row in DeadLetter.objects.order_by("offset"):
        state, at = (ItemState.SENT, NOW) if row.offset < 6 else (ItemState.QUEUED, None)
        ReplayItem.objects.create(
            replay=made, ordinal=row.offset, dead_letter=row, lineage=f"o/0/{row.offset}", target_topic="o",
            state=state, state_at=NOW, sent_at=at,
        )  # fmt: skip
    for first, age in ((0, OLD), (2, YOUNG), (4, YOUNG)):
        Chunk.objects.create(
            replay=made, first=first, after=first + 2, records=2, state="committed", opened_at=NOW, closed_at=now - age
        )
    item_states.on_their_way(made.items.all())
    return made


def shown() -> list[str]:
    return [row.replay_state for row in DeadLetter.objects.select_related("mark").order_by("offset")]


def test_many_say_so_half_a_minute_after_they_were_sent(replay: Replay) -> None:
    delayed_marks.show(replay, timezone.now())
    assert (shown(), replay.shown) == ([*["sent"] * 2, *["queued"] * 5], 2)
    Replay.objects.update(shown=0)
    replay.shown = 0
    delayed_marks.show(replay, timezone.now() + delayed_marks.SHOWN_AFTER)
    assert (shown(), replay.shown) == ([*["sent"] * 6, "queued"], 6)


def test_few_say_so_at_once_unless_more_is_being_sent(replay: Replay) -> None:
    replay.shown = 1
    delayed_marks.show(replay, timezone.now(), more=True)
    assert replay.shown == 1
    delayed_marks.show(replay, timezone.now())
    assert (shown()[1:], replay.shown) == ([*["sent"] * 5, "queued"], 6)


def test_many_that_do_not_say_so_yet_are_taken_up_when_it_is_time(replay: Replay) -> None:
    assert not sender.unsettled(Replay.objects.all()).exists()
    Replay.objects.update(heartbeat=timezone.now() - OLD)
    assert sender.unsettled(Replay.objects.all()).exists()


def test_few_that_do_not_say_so_yet_are_taken_up_at_once(replay: Replay) -> None:
    Replay.objects.update(shown=1)
    assert sender.unsettled(Replay.objects.all()).exists()
