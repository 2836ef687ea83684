"""Partitions of the index on PostgreSQL: rows across several, their removal, and what stands in the way."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import DatabaseError, IntegrityError, connection, transaction
from django.db.models import Sum
from rest_framework.test import APIClient

from dlqadmin.deadletters.index import old_partitions, partitions, retention, word_index
from dlqadmin.deadletters.index.partitions import TABLES, Partition
from dlqadmin.deadletters.models import (
    CountHour,
    DeadLetter,
    DeadLetterBody,
    DeadLetterText,
    ReplayMark,
    Trace,
    WorkChange,
)
from dlqadmin.doctor import service_checks
from dlqadmin.replays.models import Disposal, Fix
from tests.dlqadmin.deadletters.conftest import Beside
from tests.dlqadmin.deadletters.letters import ALL, HOUR_MS, NOW, NOW_MS, index, letter

pytestmark = [pytest.mark.sql, pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("several_writers")]
DAY_MS = 24 * HOUR_MS
SIZE = 10
DAYS = timedelta(days=1)


@pytest.fixture(autouse=True)
def small(settings: Any, several_writers: None) -> Iterator[None]:
    """New partitions have ten dead letters. The next dead letter but four is in a new one."""
    settings.INDEX_PARTITION_RECORDS = SIZE
    before, last = partitions.partitions(), partitions.last_id()
    with connection.cursor() as cursor:
        cursor.execute("SELECT setval('deadletters_deadletter_id_seq', %s)", [before[-1].end - 5])
    partitions.forget()
    yield
    _restore(before, last)
    partitions.forget()


def _restore(before: list[Partition], last: int) -> None:
    """Leave the empty partitions and the last id that were there before. Other tests use the same database."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT setval('deadletters_deadletter_id_seq', %s)", [last])
        cursor.execute("TRUNCATE deadletters_deadletter CASCADE")
        there = partitions.partitions()
        for one in there:
            for model in TABLES if one not in before else ():
                cursor.execute(f"ALTER TABLE {model._meta.db_table} DETACH PARTITION {one.table(model)}")
                cursor.execute(f"DROP TABLE {one.table(model)}")
        for one in before:
            if one not in there:
                partitions._add(cursor, one)


def index_days(*days: int, line: int = 54) -> None:
    """Index ten dead letters for each number of days ago."""
    for ago in days:
        first = DeadLetter.objects.count() + 1000 * ago
        index([letter(first + n, at_ms=NOW_MS - ago * DAY_MS, line=line) for n in range(SIZE)])


def sizes() -> list[int]:
    """Return the numbers of dead letters in the partitions that have some."""
    found = (DeadLetter.objects.filter(pk__gte=one.first, pk__lt=one.end) for one in partitions.partitions())
    return [n for rows in found if (n := rows.count())]


def drop_old() -> int:
    """Drop the partitions whose dead letters are all older than five days."""
    before = NOW - 5 * DAYS
    return old_partitions.drop(old_partitions.droppable(before), before)


def test_dead_letters_of_several_partitions_are_one_index(as_operator: APIClient) -> None:
    index([letter(offset, at_ms=NOW_MS - offset * 1000) for offset in range(30)])
    while word_index.write_queued_words():
        pass
    assert sizes() == [4, 10, 10, 6]
    rows = as_operator.get("/api/v1/dead-letters", {**ALL, "limit": "30"}).json()["results"]
    assert [row["offset"] for row in rows] == list(range(30))
    found = as_operator.get("/api/v1/dead-letters", {**ALL, "text": "constraint", "limit": "30"}).json()["results"]
    assert len(found) == 30
    assert (DeadLetterBody.objects.count(), DeadLetterText.objects.count()) == (30, 30)
    assert index([letter(offset) for offset in range(30)]) == 0


def test_a_partition_takes_each_coordinate_once() -> None:
    index([letter(offset) for offset in range(8)])
    row = DeadLetter.objects.latest("pk")
    row.pk += 1
    with pytest.raises(IntegrityError), transaction.atomic():
        row.save(force_insert=True)


def test_partitions_whose_dead_letters_are_all_old_are_dropped_with_all_they_have(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    index([letter(n, at_ms=NOW_MS - 9 * DAY_MS, line=60) for n in range(14)])
    index_days(5, 0)
    while word_index.write_queued_words():
        pass
    assert sizes() == [4, 10, 10, 10]
    monkeypatch.setattr(retention, "_forget", lambda ids: pytest.fail(f"{len(ids)} rows were deleted one by one"))
    assert retention.prune(NOW - 4 * DAYS) == 24
    assert sizes() == [10]
    assert {model: model.objects.count() for model in (DeadLetter, DeadLetterBody, DeadLetterText)} == {
        DeadLetter: 10,
        DeadLetterBody: 10,
        DeadLetterText: 10,
    }
    assert ["put:54" in text for text in Trace.objects.values_list("text", flat=True)] == [True]
    assert CountHour.objects.aggregate(n=Sum("n"))["n"] == 34
    assert WorkChange.objects.filter(removed=True, state="open").aggregate(n=Sum("n"))["n"] == 24
    assert retention.prune(NOW - 4 * DAYS) == 0


def test_the_work_of_dropped_dead_letters_is_counted_by_its_state() -> None:
    index_days(9, 0)
    old = DeadLetter.objects.filter(failed_at__lt=NOW - 5 * DAYS)
    ReplayMark.objects.bulk_create(
        ReplayMark(dead_letter_id=pk, state="passed", failed_at=NOW) for pk in old.values_list("pk", flat=True)[:3]
    )
    index_days(0)
    retention.prune(NOW - 5 * DAYS)
    left = WorkChange.objects.filter(removed=True).values_list("state").annotate(n=Sum("n"))
    assert dict(left) == {"open": 7, "passed": 3}
    assert WorkChange.objects.filter(removed=False).aggregate(n=Sum("n"))["n"] == 3
    assert ReplayMark.objects.count() == 0


def test_dead_letters_that_a_draft_refers_to_stay_and_the_others_are_deleted(operator: User) -> None:
    index([letter(n, at_ms=NOW_MS - 9 * DAY_MS) for n in range(14)])
    index_days(0, 0)
    row = DeadLetter.objects.get(offset=7)
    Fix.objects.create(dead_letter=row, author=operator, headers=b"", digest="", created_at=NOW, updated_at=NOW)
    assert retention.prune(NOW - 5 * DAYS) == 13
    assert sizes()[:2] == [1, 10]
    Fix.objects.all().delete()
    assert retention.prune(NOW - 5 * DAYS) == 1


def test_dead_letters_wait_up_to_a_day_for_the_rest_of_their_partition() -> None:
    index([letter(n, at_ms=NOW_MS - 9 * DAY_MS) for n in range(4)])
    index([letter(100 + n, at_ms=NOW_MS - 9 * DAY_MS + n * HOUR_MS) for n in range(10)])
    index_days(0)
    before = NOW - 9 * DAYS + timedelta(hours=5)
    assert retention.prune(before) == 4
    assert sizes()[0] == 10
    assert retention.prune(before + timedelta(hours=5)) == 10


def test_a_partition_that_somebody_begins_to_use_is_not_dropped(beside: Beside, operator: User) -> None:
    index_days(9, 9, 0)
    row = DeadLetter.objects.order_by("-failed_at", "pk").last()
    assert row is not None
    with transaction.atomic():
        Fix.objects.create(dead_letter=row, author=operator, headers=b"", digest="", created_at=NOW, updated_at=NOW)
        dropping = beside(drop_old)
        with pytest.raises(TimeoutError):
            dropping.result(0.5)
    dropping.result(60)
    assert DeadLetter.objects.filter(pk=row.pk).exists()


def test_a_partition_that_somebody_reads_for_long_is_dropped_later(
    beside: Beside, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(partitions, "WAIT_S", 0.2)
    index_days(9, 0)
    with transaction.atomic():
        assert DeadLetter.objects.count() == 20
        assert beside(drop_old).result(60) == 0
    assert "was not dropped, it is tried again" in caplog.text
    assert DeadLetter.objects.count() == 20
    assert drop_old() > 0


def test_what_a_kill_leaves_of_a_dropped_partition_goes_with_the_next_call(monkeypatch: pytest.MonkeyPatch) -> None:
    index([letter(n, at_ms=NOW_MS - 9 * DAY_MS, line=60) for n in range(14)])
    index_days(0)
    with monkeypatch.context() as patch:
        patch.setattr(old_partitions, "_drop_detached", lambda: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            drop_old()
    assert len(old_partitions._detached()) == 3  # the first was empty
    assert Trace.objects.count() == 2
    index_days(0, 0)  # new partitions do not take the numbers of those that are left
    old_partitions.drop([], NOW)
    assert old_partitions._detached() == []
    assert Trace.objects.count() == 1


def test_a_partition_is_added_while_there_is_still_room_and_somebody_else_may_hold_it_up(
    beside: Beside, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(partitions, "WAIT_S", 0.2)
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"LOCK TABLE {Disposal._meta.db_table} IN ROW EXCLUSIVE MODE")
        assert beside(lambda: index([letter(0), letter(1)])).result(60) == 2
        assert "no partition was added to the index, it is tried again" in caplog.text
        caplog.clear()
        assert beside(lambda: index([letter(2)])).result(60) == 1
        assert not caplog.text  # it waits before the next try, and the indexer does not
        with pytest.raises(DatabaseError, match="lock timeout"):
            beside(lambda: index([letter(offset) for offset in range(3, 13)])).result(60)
    assert index([letter(offset) for offset in range(3, 13)]) == 10


def test_the_doctor_tells_who_may_not_add_a_partition() -> None:
    [found] = service_checks.partition_checks()
    assert (found.verdict, "room for 4 more dead letters" in found.found) == ("ok", True)
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("CREATE ROLE reader; GRANT SELECT ON ALL SEQUENCES IN SCHEMA public TO reader")
        cursor.execute("SET LOCAL ROLE reader")
        [found] = service_checks.partition_checks()
        assert (found.verdict, "reader may not add one." in found.found) == ("error", True)
        transaction.set_rollback(True)


def test_the_doctor_warns_of_too_few_locks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service_checks, "QUERIES", 10_000)
    [found] = service_checks.partition_checks()
    assert (found.verdict, "max_locks_per_transaction" in found.remedy) == ("warning", True)


def test_a_partition_that_a_transaction_took_back_is_added_again() -> None:
    with transaction.atomic():
        index([letter(offset) for offset in range(4)])
        transaction.set_rollback(True)
    assert index([letter(offset) for offset in range(4)]) == 4
    assert index([letter(offset) for offset in range(4, 14)]) == 10


def test_words_of_a_dropped_partition_are_not_written() -> None:
    index_days(9, 0)
    retention.prune(NOW - 5 * DAYS)
    while word_index.write_queued_words():
        pass
    assert DeadLetterText.objects.count() == DeadLetter.objects.count() < 20


def test_the_tables_become_partitions_and_whole_tables_again_with_their_rows() -> None:
    index_days(9, 0)
    while word_index.write_queued_words():
        pass
    rows = list(DeadLetter.objects.order_by("pk").values())
    text = DeadLetterText.objects.count()
    try:
        call_command("migrate", "deadletters", "0026", verbosity=0)
        assert list(DeadLetter.objects.order_by("pk").values()) == rows
        with pytest.raises(IntegrityError, match="dead_letter_coordinates"), transaction.atomic():
            DeadLetter.objects.create(**{**rows[0], "id": 1})
        DeadLetter.objects.filter(pk=rows[-1]["id"]).update(message="written by the last release")
    finally:
        call_command("migrate", verbosity=0)
    partitions.forget()
    rows[-1]["message"] = "written by the last release"
    assert list(DeadLetter.objects.order_by("pk").values()) == rows
    assert DeadLetterText.objects.count() == text
    assert [one.number for one in partitions.partitions()] == [0, 1]
    assert index([letter(5)]) == 1
    assert DeadLetter.objects.latest("pk").pk == rows[-1]["id"] + 1
