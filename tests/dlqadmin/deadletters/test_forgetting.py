"""Dead letters that are taken out of the index, for ever or to be written anew."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import OperationalError, connection
from django.db.models import Sum
from rest_framework.test import APIClient

from dlqadmin.deadletters import tasks
from dlqadmin.deadletters.index import group_links, reindex, retention, word_index, writer
from dlqadmin.deadletters.index.message_parser import parse_message
from dlqadmin.deadletters.index.removal import lock_free
from dlqadmin.deadletters.models import (
    CountDay,
    CountHour,
    DeadLetter,
    DeadLetterBody,
    DeadLetterText,
    Fingerprint,
    Group,
    GroupStatus,
    Trace,
)
from dlqadmin.replays.models import Fix
from tests.dlqadmin.deadletters.letters import ALL, GAP, HOUR_MS, NOW, NOW_MS, NST, index, letter, plain

pytestmark = [pytest.mark.django_db, pytest.mark.sql]
DAY_MS = 24 * HOUR_MS


def counted() -> tuple[Any, Any]:
    return tuple(table.objects.aggregate(n=Sum("n"))["n"] for table in (CountHour, CountDay))


def kept() -> list[int]:
    return list(DeadLetter.objects.order_by("offset").values_list("offset", flat=True))


def first_seen_and_last(message: str) -> tuple[Any, Any]:
    group = Group.objects.get(fingerprints__message=message)
    return group.first_seen, group.last_seen


@contextmanager
def after_the_first_look(act: Callable[[], object]) -> Iterator[None]:
    """Once inside has chosen among dead letters, somebody else acts."""
    todo = [act]

    def run(execute: Callable[..., Any], sql: str, *rest: Any) -> Any:
        found = execute(sql, *rest)
        if todo and sql.startswith("SELECT") and 'FROM "deadletters_deadletter"' in sql:
            todo.pop()()
        return found

    with connection.execute_wrapper(run):
        yield
    assert not todo


def draft(offset: int, author: User) -> None:
    row = DeadLetter.objects.get(offset=offset)
    Fix.objects.create(dead_letter=row, author=author, headers=b"", digest="", created_at=NOW, updated_at=NOW)


def rewrite(*offsets: int, message: str = GAP, line: int = 54) -> int:
    batch = [parse_message(letter(offset, message=message, line=line), NOW) for offset in offsets]
    return reindex.rewrite(batch, "local", NOW)


def test_what_is_older_than_its_time_goes_with_its_bytes_and_words_and_stays_counted(
    monkeypatch: pytest.MonkeyPatch, operator: User
) -> None:
    monkeypatch.setattr(retention, "SLICE", 2)
    index([letter(offset, at_ms=NOW_MS - offset * DAY_MS) for offset in range(8)])
    word_index.write_queued_words()
    draft(6, operator)
    assert retention.prune(NOW - timedelta(days=2)) == 4
    assert kept() == [0, 1, 2, 6]
    assert (DeadLetterBody.objects.count(), DeadLetterText.objects.count(), counted()) == (4, 4, (8, 8))
    assert retention.prune(NOW - timedelta(days=2)) == 0


@pytest.mark.parametrize(("days", "left"), [(0, 2), (30, 1)])
def test_nothing_is_forgotten_unless_a_time_is_set(settings: Any, days: int, left: int) -> None:
    settings.RETENTION_DAYS = days
    index([letter(1, at_ms=NOW_MS - 3650 * DAY_MS), letter(2, at_ms=4_000_000_000_000)])
    tasks.prune_dead_letters()
    assert DeadLetter.objects.count() == left


def test_a_dead_letter_that_is_read_again_is_there_and_counted_once() -> None:
    index([letter(offset) for offset in range(4)])
    assert rewrite(1, 2, 3, 4, message=NST) == 4
    assert (kept(), counted()) == ([0, 1, 2, 3, 4], (5, 5))
    why = dict(DeadLetter.objects.values_list("offset", "fingerprint__message"))
    assert why == {0: GAP, 1: NST, 2: NST, 3: NST, 4: NST}
    hours = {row.fingerprint.message: row.n for row in CountHour.objects.select_related("fingerprint")}
    assert hours == {GAP: 1, NST: 4}
    while word_index.write_queued_words():
        pass
    assert DeadLetterText.objects.count() == 5


def test_what_somebody_edits_is_not_read_again(operator: User) -> None:
    index([letter(1), letter(2)])
    before = DeadLetter.objects.get(offset=1).pk
    draft(1, operator)
    assert rewrite(1, 2, message=NST) == 1
    assert (DeadLetter.objects.get(offset=1).pk, Fix.objects.count(), counted()) == (before, 1, (2, 2))


def test_what_is_read_again_is_no_news_of_its_group() -> None:
    index([letter(1)])
    Group.objects.update(
        status=GroupStatus.MUTED, muted_at=NOW - timedelta(hours=1), mute_count=2, muted_events=1, resolved_at=None
    )
    rewrite(1)
    assert Group.objects.get().status == GroupStatus.MUTED
    rewrite(1, 2)
    assert Group.objects.get().status == GroupStatus.OPEN


def test_a_draft_that_is_made_while_old_ones_are_chosen_stays_with_its_dead_letter(operator: User) -> None:
    index([letter(offset, at_ms=NOW_MS - 9 * DAY_MS) for offset in range(3)])
    with after_the_first_look(lambda: draft(1, operator)):
        assert retention.prune(NOW - timedelta(days=2)) == 2
    assert (kept(), Fix.objects.count()) == ([1], 1)


def test_a_draft_that_is_made_while_its_topic_is_read_again_stays_with_its_dead_letter(operator: User) -> None:
    index([letter(1), letter(2)])
    with after_the_first_look(lambda: draft(1, operator)):
        assert rewrite(1, 2, message=NST) == 1
    assert (kept(), Fix.objects.get().dead_letter.offset, counted()) == ([1, 2], 1, (2, 2))


def test_a_trace_goes_with_the_last_dead_letter_that_has_it() -> None:
    index([letter(1, at_ms=NOW_MS - 9 * DAY_MS), letter(2), letter(3, line=60, at_ms=NOW_MS - 9 * DAY_MS)])
    retention.prune(NOW - timedelta(days=2))
    assert ["put:54" in text for text in Trace.objects.values_list("text", flat=True)] == [True]
    rewrite(2, line=60)
    assert ["put:60" in text for text in Trace.objects.values_list("text", flat=True)] == [True]
    retention.prune(NOW + timedelta(days=2))
    assert Trace.objects.count() == 0


def test_a_group_spans_what_was_read_again_into_it_and_the_one_it_left_is_empty(as_operator: APIClient) -> None:
    times = {offset: NOW_MS - (10 - offset) * HOUR_MS for offset in range(1, 9)}
    index([letter(offset, at_ms=at_ms) for offset, at_ms in times.items()])
    for part in ((3, 4, 5), (1, 2), (6, 7, 8)):
        batch = [parse_message(letter(offset, at_ms=times[offset], message=NST), NOW) for offset in part]
        reindex.rewrite(batch, "local", NOW)
    assert first_seen_and_last(NST) == (NOW - timedelta(hours=9), NOW - timedelta(hours=2))
    left = Fingerprint.objects.get(message=GAP)
    assert (group_links.time_span([left.pk]), CountHour.objects.filter(fingerprint=left).count(), counted()) == (
        None,
        0,
        (8, 8),
    )
    assert CountDay.objects.filter(fingerprint=left).count() == 0
    assert as_operator.get(f"/api/v1/groups/{left.group_id}/common", ALL).status_code == 200


def test_what_is_forgotten_is_neither_read_again_nor_taken_out(settings: Any) -> None:
    settings.RETENTION_DAYS = 2
    index([letter(1, at_ms=NOW_MS - 9 * DAY_MS)])
    batch = [parse_message(letter(1, at_ms=NOW_MS - 9 * DAY_MS, message=NST), NOW)]
    assert reindex.rewrite(batch, "local", NOW) == 0
    assert (kept(), counted()) == ([1], (1, 1))


def test_a_topic_is_read_again_in_slices_of_many_records_or_of_many_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reindex, "SLICE", 3)
    monkeypatch.setattr(reindex, "BATCH_BYTES", 100)
    small = [plain(offset, b"v") for offset in range(4)]
    large = [
        plain(4, b"v" * 60),
        plain(5, None, key=b"k" * 60),
        plain(6, None, headers=(("h", b"h" * 100), ("n", None))),
    ]
    slices = reindex._slices([*small, *large])
    assert [[record.offset for record in part] for part in slices] == [[0, 1, 2], [3, 4, 5], [6]]


def test_what_the_database_ended_is_done_again(monkeypatch: pytest.MonkeyPatch) -> None:
    index([letter(1)])
    lock, tries = lock_free, [1, 2]

    def locked(*arguments: Any) -> Any:
        if tries:
            raise OperationalError(f"deadlock detected, {tries.pop()}")
        return lock(*arguments)

    monkeypatch.setattr(reindex, "RETRY_S", 0)
    monkeypatch.setattr(reindex, "lock_free", locked)
    assert reindex._rewrite_with_retries([parse_message(letter(1, message=NST), NOW)]) == 1
    assert (kept(), counted(), tries) == ([1], (1, 1), [])


def test_a_slice_that_fails_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    index([letter(1), letter(2)])

    def broken(*_: object) -> int:
        raise OSError("killed")

    monkeypatch.setattr(writer, "write", broken)
    with pytest.raises(OSError, match="killed"):
        rewrite(1, 2, message=NST)
    assert (kept(), counted()) == ([1, 2], (2, 2))
