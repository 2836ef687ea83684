from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from dlqadmin.deadletters.index import reindex
from dlqadmin.deadletters.index.column_values import moment
from dlqadmin.deadletters.index.message_parser import parse_message
from dlqadmin.deadletters.index.retention import prune
from dlqadmin.deadletters.models import DeadLetter, TimeSource
from engine.record.record import RawRecord
from tests.dlqadmin.deadletters.letters import HOUR_MS, NOW, NOW_MS, index, index_one, letter
from tests.engine.dialects import foreign_letters as letters
from tests.engine.dialects.foreign_letters import WRITTEN_MS

LATER = NOW + timedelta(days=2)
COPYING = replace(letter(1), timestamp_type="CREATE_TIME", timestamp=0)  # Kafka Connect copies the record's time


@pytest.mark.parametrize(
    ("message", "failed_at", "source"),
    [
        (letters.SPRING_RETRY, datetime(2026, 11, 23, 8, 58, 6, 503_000, tzinfo=UTC), "writer"),
        (letters.PYTHON_HEADERS, datetime(2026, 11, 23, 8, 58, 6, 503_000, tzinfo=UTC), "writer"),
        (letters.SMALLRYE, moment(WRITTEN_MS), "create"),
        (replace(letters.SMALLRYE, timestamp_type="LOG_APPEND_TIME"), moment(WRITTEN_MS), "append"),
        (replace(letters.CONNECT, timestamp_type="LOG_APPEND_TIME"), moment(WRITTEN_MS), "append"),
        (letters.CONNECT, NOW, "index"),
        (letters.STREAMS, NOW, "index"),
        (replace(letters.SMALLRYE, timestamp=-1), NOW, "index"),
    ],
)
def test_the_failure_is_never_older_than_its_writer_knows(message: RawRecord, failed_at: datetime, source: str) -> None:
    parsed = parse_message(message, NOW)
    assert (parsed.failed_at, parsed.time_source) == (failed_at, source)


@pytest.mark.django_db
def test_retention_does_not_delete_a_fresh_dead_letter_of_an_old_record() -> None:
    row = index_one(COPYING)
    assert (row.failed_at, row.time_source) == (NOW, TimeSource.INDEX)
    assert prune(NOW - timedelta(days=1)) == 0
    assert prune(NOW + timedelta(seconds=1)) == 1


@pytest.mark.django_db
def test_the_time_of_first_indexing_survives_a_new_index() -> None:
    index([COPYING])
    for _ in range(2):
        assert reindex.rewrite([parse_message(COPYING, LATER)], "local", LATER) == 1
        assert DeadLetter.objects.get().failed_at == NOW


@pytest.mark.django_db
def test_a_row_of_an_older_version_gets_the_time_of_its_first_indexing() -> None:
    index([COPYING])
    DeadLetter.objects.update(failed_at=NOW - timedelta(days=300), time_source=None)
    reindex.rewrite([parse_message(COPYING, LATER)], "local", LATER)
    assert DeadLetter.objects.values_list("failed_at", "time_source").get() == (NOW, TimeSource.INDEX)


@pytest.mark.django_db
@pytest.mark.parametrize(("days", "left"), [(30, 0), (0, 1)])
def test_what_retention_deleted_does_not_come_back_as_fresh(settings: Any, days: int, left: int) -> None:
    settings.RETENTION_DAYS = days
    index([COPYING])
    prune(NOW + timedelta(seconds=1))
    index([COPYING], LATER)
    reindex.rewrite([parse_message(COPYING, LATER)], "local", LATER)
    assert DeadLetter.objects.count() == left


@pytest.mark.django_db
def test_a_young_record_below_the_position_is_of_a_recreated_topic(settings: Any) -> None:
    settings.RETENTION_DAYS = 30
    index([COPYING])
    prune(NOW + timedelta(seconds=1))
    young = replace(COPYING, timestamp=NOW_MS - HOUR_MS)
    assert [index([replace(young, offset=offset)], LATER) for offset in (0, 1, 0)] == [1, 1, 0]


@pytest.mark.django_db
def test_a_letter_without_any_time_is_not_indexed_twice(settings: Any) -> None:
    settings.RETENTION_DAYS = 30
    timeless = replace(COPYING, timestamp=-1)
    index([timeless])
    prune(NOW + timedelta(seconds=1))
    assert index([timeless], LATER) == 0
