"""Counters are what a recount would find, whatever was moved, also by two at once."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

from dlqadmin.deadletters.models import DeadLetter
from dlqadmin.replays.items import item_counters, item_states
from dlqadmin.replays.models import ItemCount, ItemState, Replay, ReplayItem, ReplaySecond, Selection
from tests.dlqadmin.deadletters.letters import NOW, index, letter

pytestmark = pytest.mark.sql

REASONS = ("", "waiting", "no_group")
Move = tuple[frozenset[int], frozenset[ItemState], ItemState, str]
MOVES = st.tuples(
    st.frozensets(st.integers(0, 7)),
    st.frozensets(st.sampled_from(list(ItemState))),
    st.sampled_from(list(ItemState)),
    st.sampled_from(REASONS),
)


def replay_of(count: int = 8) -> Replay:
    """A planned replay whose items differ in what they are counted by."""
    index([letter(number) for number in range(count)])
    selection = Selection.objects.create(created_at=NOW, filters={}, title="s", watermark=1, count=count, digest="d")
    replay = Replay.objects.create(selection=selection, title="s", planned_at=NOW, created_at=NOW)
    letters = list(DeadLetter.objects.order_by("offset")[:count])
    ReplayItem.objects.bulk_create(
        ReplayItem(
            replay=replay, ordinal=number, dead_letter=row, lineage=f"o/0/{number}", target_topic="o", state_at=NOW,
            watched=("", "a")[number % 2], edited=number % 3 == 0,
        )
        for number, row in enumerate(letters)
    )  # fmt: skip
    item_states.created(replay)
    return replay


def counted(replay: Replay) -> dict[tuple[Any, ...], int]:
    rows = ItemCount.objects.filter(replay=replay).exclude(n=0)
    return {(row.state, row.reason, row.watched, row.edited): row.n for row in rows}


def anew(replay: Replay) -> dict[tuple[Any, ...], int]:
    item_counters.recount(replay.pk)
    return counted(replay)


def move(replay: Replay, one: Move) -> int:
    ordinals, expected, to, reason = one
    rows = replay.items.filter(ordinal__in=ordinals)
    return item_states.move(rows, tuple(expected), to, NOW, reason=reason)


@pytest.mark.slow
class AnyMoves(TestCase):
    @settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.too_slow])
    @given(st.lists(MOVES, max_size=8), st.sampled_from(list(ItemState)))
    def test_counters_equal_a_recount_after_any_moves(self, moves: list[Move], state: ItemState) -> None:
        replay = replay_of()
        for one in moves:
            move(replay, one)
        item_states.move_all(replay.items.all(), state, ItemState.SKIPPED, NOW, reason="cancelled")
        assert counted(replay) == anew(replay)


@pytest.mark.django_db
def test_seconds_tell_when_items_were_sent_and_settled() -> None:
    replay, later = replay_of(), NOW + timedelta(seconds=3)
    sent, passed = replay.items.filter(ordinal__lt=5), replay.items.filter(ordinal__lt=3)
    item_states.move(sent, ItemState.PLANNED, ItemState.SENT, NOW, sent_at=NOW)
    item_states.move(passed, ItemState.SENT, ItemState.PASSED, later)
    item_states.move(passed, ItemState.PASSED, ItemState.FAILED_AGAIN, later)
    assert item_counters.seconds(replay.pk) == [(NOW, 5, 0), (later, 0, 3)]
    item_states.move(passed.filter(ordinal=0), ItemState.FAILED_AGAIN, ItemState.SENT, later, sent_at=later)
    assert ReplaySecond.objects.get(at=later).settled == 2
