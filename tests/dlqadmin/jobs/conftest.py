from __future__ import annotations

import pytest
from django.contrib.auth.models import User

from dlqadmin.deadletters.models import DeadLetter
from tests.dlqadmin.deadletters.letters import index, letter
from tests.dlqadmin.jobs.kinds import KINDS, JobCase


@pytest.fixture
def rows(db: None) -> list[DeadLetter]:
    """Ten JSON records."""
    index([letter(offset, value=b'{"n":%d}' % offset) for offset in range(10)])
    return list(DeadLetter.objects.order_by("pk"))


@pytest.fixture(params=KINDS)
def job(request: pytest.FixtureRequest, operator: User, rows: list[DeadLetter]) -> JobCase:
    """A job of each kind that no worker has begun."""
    case = KINDS[request.param]
    fields = {name: getattr(case, name) for name in ("kind", "make", "sweep", "queued", "trouble")}
    return JobCase(**fields, pk=case.make(operator).pk)
