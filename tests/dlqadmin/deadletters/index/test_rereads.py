"""Rereads while Kafka is away."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from dlqadmin.broker.messages import BrokerUnavailable
from dlqadmin.deadletters.index import rereads
from dlqadmin.deadletters.models import Reread

pytestmark = pytest.mark.django_db


def test_a_reread_that_finds_kafka_away_is_tried_again_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*_: Any) -> None:
        raise BrokerUnavailable("no leader")

    monkeypatch.setattr(rereads, "rewrite_slices", away)
    job = Reread.objects.create(cluster="local", topic="orders-dlt", actor="ann", created_at=timezone.now(), total=1)
    assert rereads.run_next(lambda _: None)
    job.refresh_from_db()
    assert (job.trouble, job.tries) == ("Kafka did not respond: no leader", 0)
    now = timezone.now()
    assert not rereads.KIND.waiting(now).exists()
    assert rereads.KIND.waiting(now + timedelta(seconds=16)).exists()
