"""Two small replays that one person runs at once are not each below the threshold."""

from __future__ import annotations

from threading import Event
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import transaction

from dlqadmin.deadletters.models import DeadLetter
from dlqadmin.replays.jobs import controls
from dlqadmin.replays.models import Replay
from dlqadmin.replays.selections import frozen_selections
from dlqadmin.rest.idempotency import RequestKey
from dlqadmin.rest.problems import StateConflict
from tests.dlqadmin.deadletters.conftest import Beside
from tests.dlqadmin.deadletters.letters import index, letter
from tests.dlqadmin.replays.plans.making import LATER, plan

pytestmark = [pytest.mark.sql, pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("several_writers")]
SOON_S, WAIT_S = 0.5, 10


def test_the_second_of_two_runs_waits_for_the_first_and_counts_it(
    operator: User, beside: Beside, settings: Any
) -> None:
    settings.APPROVAL_ABOVE = 2
    index([letter(number) for number in range(4)])
    ids = list(DeadLetter.objects.order_by("pk").values_list("pk", flat=True))
    first, second = (
        plan(operator, chosen=frozen_selections.by_ids(part, operator, RequestKey(), LATER))
        for part in (ids[:2], ids[2:])
    )

    def run(replay: Replay) -> str:
        return controls.run(replay, operator, "INC-7", replay.plan["digest"], LATER)

    with transaction.atomic():
        assert run(first) == "sending 2 records"
        other = beside(lambda: run(second))
        Event().wait(SOON_S)
        assert not other.done()
    with pytest.raises(StateConflict, match="4 records within 24 hours, more than 2: 2 before and 2 now"):
        other.result(WAIT_S)
