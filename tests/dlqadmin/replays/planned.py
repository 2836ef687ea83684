"""A replay that is planned, and not run yet."""

from __future__ import annotations

from dlqadmin.deadletters.models import DeadLetter
from dlqadmin.replays.items import item_states
from dlqadmin.replays.models import Replay, ReplayItem, Selection
from tests.dlqadmin.deadletters.letters import NOW, index, letter

TARGET, PLAN = "usgs.earthquakes", "digest-2"


def planned(count: int = 3, **options: object) -> Replay:
    """A planned replay of the first dead letters."""
    index([letter(number) for number in range(count)])
    selection = Selection.objects.create(
        created_at=NOW, filters={}, title="some", watermark=1, count=count, digest="digest-1"
    )
    replay = Replay.objects.create(
        selection=selection,
        title="some",
        planned_at=NOW,
        created_at=NOW,
        plan={"runnable": True, "digest": PLAN},
        **options,
    )
    for row in DeadLetter.objects.order_by("offset")[:count]:
        ReplayItem.objects.create(
            replay=replay,
            ordinal=row.offset,
            dead_letter=row,
            lineage=f"{TARGET}/0/{row.offset}",
            target_topic=TARGET,
            state_at=NOW,
        )
    item_states.created(replay)
    return replay
