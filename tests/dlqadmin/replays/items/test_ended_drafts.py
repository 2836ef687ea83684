"""A draft ends when its record passed, and no sooner."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User

from dlqadmin.deadletters.models import DeadLetter
from dlqadmin.replays.fixes import drafts
from dlqadmin.replays.fixes.drafts import DraftChange
from dlqadmin.replays.items import item_states
from dlqadmin.replays.models import Fix, ItemState
from tests.dlqadmin.conftest import person
from tests.dlqadmin.deadletters.letters import NOW
from tests.dlqadmin.replays.planned import planned

pytestmark = [pytest.mark.django_db, pytest.mark.sql]


def draft(offset: int, author: User) -> Fix:
    row = DeadLetter.objects.select_related("body").get(offset=offset)
    return drafts.save(row, author, DraftChange(value=b"1"), None, NOW)


def left() -> list[int]:
    return list(Fix.objects.order_by("dead_letter__offset").values_list("dead_letter__offset", flat=True))


def test_drafts_of_everybody_end_when_their_record_passed(operator: User) -> None:
    replay = planned(3)
    for offset in range(3):
        draft(offset, operator)
    draft(0, person("operator-2", "operator"))
    replay.items.update(state=ItemState.SENT)
    item_states.move(replay.items.filter(ordinal=0), ItemState.SENT, ItemState.PASSED, NOW)
    item_states.move(replay.items.filter(ordinal=1), ItemState.SENT, ItemState.FAILED_AGAIN, NOW)
    item_states.move(replay.items.filter(ordinal=2), ItemState.SENT, ItemState.UNKNOWN, NOW)
    assert left() == [1, 2]


def test_a_draft_of_the_former_dead_letter_ends_when_the_newer_one_passed(operator: User) -> None:
    replay = planned(2)
    draft(0, operator)
    replay.items.update(state=ItemState.SENT, lineage="usgs.earthquakes/0/0")
    item_states.move(replay.items.filter(ordinal=0), ItemState.SENT, ItemState.FAILED_AGAIN, NOW)
    assert left() == [0]
    item_states.move(replay.items.filter(ordinal=1), ItemState.SENT, ItemState.PASSED, NOW)
    assert left() == []
