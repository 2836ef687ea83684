"""How SQLite looks for what others hold of a replay that is about to be run."""

from __future__ import annotations

import pytest
from django.db import connection

from dlqadmin.deadletters.search import planner_statistics
from dlqadmin.replays.items import lineage_claims
from dlqadmin.replays.models import LedgerEntry, Replay, ReplayItem, Selection
from tests.dlqadmin.deadletters.letters import NOW, index_one, letter

pytestmark = [
    pytest.mark.sql,
    pytest.mark.django_db,
    pytest.mark.skipif(connection.vendor != "sqlite", reason="PostgreSQL gathers statistics by itself"),
]


def plan(replay: Replay) -> str:
    sql, params = lineage_claims.taken(replay).query.sql_with_params()
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN QUERY PLAN {sql}", params)
        return "\n".join(line for *_, line in cursor.fetchall())


def test_each_entry_costs_a_look_at_its_lineage_and_not_at_all_that_is_planned() -> None:
    count, row = 5 * planner_statistics.FEW, index_one(letter(1))
    selection = Selection.objects.create(created_at=NOW, filters={}, title="s", watermark=1, count=1, digest="d")
    known = {"selection": selection, "title": "s", "planned_at": NOW, "created_at": NOW}
    earlier, replay = (Replay.objects.create(**known) for _ in range(2))
    for one, state in ((earlier, "passed"), (replay, "planned")):
        ReplayItem.objects.bulk_create(
            ReplayItem(
                replay=one, ordinal=number, dead_letter=row, lineage=f"o/0/{number}", target_topic="o", state=state,
                state_at=NOW,
            )
            for number in range(count)
        )  # fmt: skip
    LedgerEntry.objects.bulk_create(
        LedgerEntry(lineage=item.lineage, target_topic="o", item=item) for item in earlier.items.all()
    )
    assert "replay_item_state" in plan(replay)  # all that is planned, for each entry
    planner_statistics.gather()
    assert "replay_item_lineage" in plan(replay)
    assert "replay_item_state" not in plan(replay)
