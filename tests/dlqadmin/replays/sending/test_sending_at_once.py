"""Sending, leaving out and adopting at the same time: nobody blocks another, and what is counted stays true."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Count, QuerySet

from dlqadmin.deadletters.models import DeadLetter
from dlqadmin.replays.disposals import disposal_rows
from dlqadmin.replays.items import item_states, lineage_claims
from dlqadmin.replays.items.item_rows import Loaded, load
from dlqadmin.replays.jobs import controls
from dlqadmin.replays.models import Chunk, DisposalAct, ItemCount, ItemState, LedgerEntry, Replay, ReplayItem, Selection
from dlqadmin.replays.outcomes import consumer_groups, waiting_partitions
from dlqadmin.replays.sending import cancellation, chunk_settlement
from tests.dlqadmin.deadletters.conftest import Beside
from tests.dlqadmin.deadletters.letters import NOW, index, letter

pytestmark = [pytest.mark.sql, pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("several_writers")]
WAIT_S = 10
SOON_S = 0.5  # that long the other one is let run before it is sure that it waits
COUNTED = ("state", "reason", "watched")


@pytest.fixture
def replay() -> Replay:
    """A running replay of ten records, of which three to five are on their way."""
    index([letter(number) for number in range(10)])
    selection = Selection.objects.create(created_at=NOW, filters={}, title="s", watermark=1, count=10, digest="d")
    made = Replay.objects.create(selection=selection, title="s", planned_at=NOW, created_at=NOW, status="running")
    for row in DeadLetter.objects.order_by("offset"):
        item = ReplayItem.objects.create(
            replay=made, ordinal=row.offset, dead_letter=row, lineage=f"o/0/{row.offset}", target_topic="o",
            state=ItemState.QUEUED, state_at=NOW,
        )  # fmt: skip
        LedgerEntry.objects.create(lineage=item.lineage, target_topic="o", item=item)
    item_states.created(made)
    Chunk.objects.create(replay=made, first=3, after=6, records=3, opened_at=NOW)
    return made


def on_its_way(replay: Replay) -> tuple[Chunk, list[Loaded]]:
    batch = load(replay, replay.items.filter(ordinal__gte=3, ordinal__lt=6))
    for row in batch:
        row.sent_partition, row.sent_offset, row.sent_at = 0, row.ordinal, NOW
    return Chunk.objects.select_related("replay").get(), batch


def commit(replay: Replay) -> None:
    chunk, batch = on_its_way(replay)
    assert chunk_settlement.committed(chunk, batch, NOW)


def abort(replay: Replay) -> None:
    chunk_settlement._aborted(*on_its_way(replay), NOW)


def counted(replay: Replay) -> set[tuple[Any, ...]]:
    return set(ItemCount.objects.filter(replay=replay).exclude(n=0).values_list(*COUNTED, "n"))


def there(replay: Replay) -> set[tuple[Any, ...]]:
    return set(replay.items.values_list(*COUNTED).annotate(n=Count("pk")))


def after(monkeypatch: pytest.MonkeyPatch, where: Any, name: str, act: Callable[[], object]) -> None:
    """Act once when that function has returned, before what follows."""
    plain, acted = getattr(where, name), Event()

    def both(*args: Any, **given: Any) -> Any:
        answer = plain(*args, **given)
        if not acted.is_set():
            acted.set()
            act()
        return answer

    monkeypatch.setattr(where, name, both)


def test_a_chunk_is_committed_while_its_replay_is_cancelled(
    replay: Replay, operator: User, beside: Beside, monkeypatch: pytest.MonkeyPatch
) -> None:
    others: list[Any] = []

    def cancel() -> None:
        again = Replay.objects.get(pk=replay.pk)
        others.append(beside(lambda: controls.cancel(again, operator, "", NOW)))
        Event().wait(SOON_S)

    after(monkeypatch, item_states, "sent", cancel)
    commit(replay)
    assert others[0].result(WAIT_S) == "cancelled after 3; 7 records not sent"
    assert counted(replay) == there(replay) == {("sent", "waiting", "", 3), ("skipped", "cancelled", "", 7)}


def test_what_turns_out_not_to_be_sent_is_left_out_whole(
    replay: Replay, beside: Beside, monkeypatch: pytest.MonkeyPatch
) -> None:
    Replay.objects.update(status="cancelled")
    others: list[Any] = []

    def settle() -> None:
        others.append(beside(lambda: abort(replay)))
        Event().wait(SOON_S)

    after(monkeypatch, lineage_claims, "release", settle)
    cancellation.leave_out(replay, NOW)
    others[0].result(WAIT_S)
    cancellation.leave_out(replay, NOW)
    assert counted(replay) == there(replay) == {("skipped", "cancelled", "", 10)}
    assert not LedgerEntry.objects.exists()


def test_records_that_are_sent_while_others_get_a_reader_are_counted_where_they_are(
    replay: Replay, beside: Beside, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = replay.items.filter(ordinal__lt=3)
    first.update(state=ItemState.SENT, reason="waiting", sent_partition=0, sent_offset=1, sent_at=NOW)
    item_states.created(replay)
    (spot,) = waiting_partitions.waiting(NOW, unknown=False)
    plain = QuerySet.update

    def update(rows: QuerySet[Any], **values: Any) -> int:
        if "watched" in values:
            monkeypatch.undo()
            beside(lambda: commit(replay)).result(WAIT_S)
        return plain(rows, **values)

    monkeypatch.setattr(QuerySet, "update", update)
    consumer_groups._adopt(spot, "group:billing")
    assert counted(replay) == there(replay)


def test_an_outcome_that_comes_while_dead_letters_say_sent_is_what_they_say_in_the_end(
    replay: Replay, beside: Beside
) -> None:
    item_states.on_their_way(replay.items.all())
    commit(replay)
    with transaction.atomic():
        item_states.move(replay.items.filter(state=ItemState.SENT), ItemState.SENT, ItemState.PASSED, NOW)
        late = beside(lambda: item_states.show_sent(replay.pk, 0, 10))
        with pytest.raises(TimeoutError):
            late.result(SOON_S)
    late.result(WAIT_S)
    assert shown(replay, 3, 6) == {"passed"}


def test_who_decides_about_a_record_waits_for_the_replay_that_takes_it_up_though_it_says_queued_already(
    replay: Replay, beside: Beside, operator: User
) -> None:
    item_states.on_their_way(replay.items.all())
    ReplayItem.objects.update(state=ItemState.PLANNED)
    act = DisposalAct.objects.create(
        selection=replay.selection, kind="discarded", actor=operator, created_at=NOW, heartbeat=NOW
    )
    one = replay.items.get(ordinal=8).dead_letter_id
    with transaction.atomic():
        item_states.move_all(replay.items.all(), ItemState.PLANNED, ItemState.QUEUED, NOW)
        item_states.on_their_way(replay.items.all())
        late = beside(lambda: disposal_rows.dispose([one], act, NOW))
        with pytest.raises(TimeoutError):
            late.result(SOON_S)
    assert late.result(WAIT_S).busy == 1
    assert shown(replay, 8, 9) == {"queued"}


def shown(replay: Replay, first: int, end: int) -> set[str]:
    rows = replay.items.filter(ordinal__gte=first, ordinal__lt=end).select_related("dead_letter__mark")
    return {row.dead_letter.replay_state for row in rows}
