"""The lag of those whose outcome counts, while a replay sends."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from dlqadmin.replays.items import item_states
from dlqadmin.replays.sending.pause_rules import Lag
from dlqadmin.replays.sending.reader_lag import Watch
from tests.dlqadmin.replays.items.test_item_counters import replay_of
from tests.dlqadmin.spark_queries import report

pytestmark = [pytest.mark.django_db, pytest.mark.sql]


def test_the_slowest_group_counts_and_is_asked_every_two_seconds() -> None:
    replay, asked, now = replay_of(), list[tuple[str, Sequence[str]]](), [0.0]
    replay.max_lag, replay.topic_ids, replay.watch = 5, {"o": "id"}, ["billing"]
    replay.items.filter(ordinal=0).update(watched="group:audit")
    item_states.created(replay)

    def ask(group: str, topics: Sequence[str]) -> int:
        asked.append((group, topics))
        return len(group)

    watch = Watch(replay, ask, lambda: now[0])
    assert watch.now() == watch.now() == Lag("connect-a", 9)
    assert asked == [(group, ["o"]) for group in ("audit", "billing", "connect-a")]
    now[0] = 2.5
    watch.now()
    assert len(asked) == 6


def test_the_lag_of_a_spark_query_is_the_one_that_it_reports() -> None:
    replay = replay_of()
    replay.max_lag, replay.topic_ids = 5, {"o": "id"}
    replay.items.update(watched="orders")
    item_states.created(replay)
    report(lag=70)
    assert Watch(replay, lambda group, topics: 1 // 0).now() == Lag("orders", 70)
    report(lag=None)
    assert Watch(replay, lambda group, topics: 1 // 0).now() == Lag("orders", 0)


def test_nobody_is_asked_where_no_lag_is_too_much() -> None:
    replay = replay_of()
    replay.topic_ids = {"o": "id"}
    assert Watch(replay, lambda group, topics: 1 // 0).now() is None
