from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from dlqadmin.deadletters.models import DeadLetter
from dlqadmin.replays.fixes.drafts import DraftChange, save
from dlqadmin.replays.models import Fix
from tests.dlqadmin.deadletters.letters import index, letter
from tests.dlqadmin.replays.fixes.making import FINE, NULL
from tests.dlqadmin.replays.fixes.replacing import MINE


@pytest.fixture
def indexed() -> list[int]:
    """30 records with a null gap, 10 without, and one that is no JSON."""
    values = [NULL] * 30 + [FINE] * 10 + [b"{broken"]
    index([letter(offset, value=value) for offset, value in enumerate(values)])
    return list(DeadLetter.objects.order_by("pk").values_list("pk", flat=True))


@pytest.fixture
def rows() -> list[DeadLetter]:
    index([letter(offset, value=b'{"n":%d}' % offset) for offset in range(130)])
    return list(DeadLetter.objects.select_related("body").order_by("pk"))


@pytest.fixture
def mine(rows: list[DeadLetter], operator: User) -> list[Fix]:
    """Drafts by hand of the first two records."""
    return [save(row, operator, DraftChange(value=MINE), None, timezone.now()) for row in rows[:2]]
