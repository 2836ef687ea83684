"""Progress of the index on a dead letter topic whose end moves on."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from dlqadmin.broker import clusters
from dlqadmin.deadletters.models import IndexPosition
from dlqadmin.replays.outcomes.index_progress import reach
from tests.dlqadmin.deadletters.letters import NOW
from tests.dlqadmin.replays.world import DLQ

pytestmark = [pytest.mark.django_db, pytest.mark.sql]
SECOND = timedelta(seconds=1)


def covered(cluster: str, position: int, end: int, now: datetime) -> datetime | None:
    """Return up to when the index has read the topic, whose only partition it has read up to this position."""
    with clusters.on(cluster):
        IndexPosition.objects.update_or_create(
            cluster=clusters.current(), topic=DLQ, partition=0, defaults={"position": position, "updated_at": now}
        )
        return reach({DLQ: 1}, {(DLQ, 0): end}, {}, {}, now, None)[DLQ].covered


def test_what_was_written_before_an_end_that_the_index_has_reached_is_read() -> None:
    assert covered("", 10, 12, NOW) is None
    assert covered("", 11, 14, NOW + SECOND) is None
    assert covered("", 12, 15, NOW + 2 * SECOND) == NOW


def test_ends_of_a_topic_of_the_same_name_on_another_cluster_are_no_goal() -> None:
    assert covered("", 10, 12, NOW) is None
    assert covered("dr", 40, 45, NOW + SECOND) is None
    assert covered("dr", 41, 46, NOW + 2 * SECOND) is None
    assert covered("", 12, 15, NOW + 3 * SECOND) == NOW
