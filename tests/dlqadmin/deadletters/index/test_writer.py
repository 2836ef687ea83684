from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db.models import Sum

from dlqadmin.deadletters.index import retention, writer
from dlqadmin.deadletters.index.column_values import unpack_headers
from dlqadmin.deadletters.index.message_parser import parse_message, with_original
from dlqadmin.deadletters.models import (
    CountDay,
    CountHour,
    DeadLetter,
    Fingerprint,
    Group,
    GroupActivity,
    IndexPosition,
    OriginSource,
    Trace,
)
from engine.record.record import Headers
from engine.record.replay import ATTEMPT, ITEM
from tests.dlqadmin.deadletters.letters import GAP, HOUR_MS, NOW, NOW_MS, NST, index, index_one, letter, plain

pytestmark = [pytest.mark.django_db, pytest.mark.sql]
TOKEN = b"0b0e6b9c-0000-4000-8000-000000000001/17"
POINTER = b'{"record": {"topic": "t", "partition": 0, "offset": 1}, "stages": [], "index": 0, "exception": "a.B: c"}'


def counted(table: type[CountHour | CountDay]) -> int:
    return table.objects.aggregate(n=Sum("n"))["n"] or 0


def test_a_batch_indexed_twice_is_counted_once() -> None:
    batch = [letter(offset) for offset in range(5)]
    assert [index(batch), index(batch), index([*batch, letter(5)])] == [5, 0, 1]
    assert (DeadLetter.objects.count(), counted(CountHour), counted(CountDay)) == (6, 6, 6)


def test_a_message_twice_in_one_batch_is_one_row() -> None:
    assert index([letter(1), letter(1)]) == 1
    assert counted(CountHour) == 1


def test_nothing_is_counted_when_the_transaction_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(writer, "_advance_positions", broken)
    with pytest.raises(OSError, match="disk full"):
        index([letter(1)])
    assert (DeadLetter.objects.count(), Group.objects.count(), counted(CountHour)) == (0, 0, 0)


def test_alike_failures_share_a_group_and_those_of_one_place_their_frames() -> None:
    index([letter(1), letter(2), letter(3, message=NST)])
    assert (Group.objects.count(), Fingerprint.objects.count(), Trace.objects.count()) == (2, 2, 1)
    assert set(Group.objects.values_list("title", flat=True)) == {
        "IntegrityError: earthquakes.gap is null",
        "IntegrityError: earthquakes.nst is null",
    }


def test_a_group_spans_its_dead_letters_whatever_their_order() -> None:
    index([letter(1, at_ms=NOW_MS - HOUR_MS)])
    index([letter(2, at_ms=NOW_MS - 5 * HOUR_MS), letter(3, at_ms=NOW_MS)])
    group = Group.objects.get()
    assert (group.first_seen, group.last_seen) == (NOW - timedelta(hours=5), NOW)


def test_a_resolved_group_that_fails_again_has_regressed() -> None:
    index([letter(1, at_ms=NOW_MS - HOUR_MS)])
    Group.objects.update(status="resolved", resolved_at=NOW - timedelta(minutes=10))
    index([letter(2, at_ms=NOW_MS - HOUR_MS // 2)])
    assert Group.objects.get().status == "resolved"
    index([letter(3)])
    group = Group.objects.get()
    assert (group.status, group.regressed_at) == ("open", NOW)
    assert GroupActivity.objects.get().kind == "regressed"


def test_the_position_follows_the_highest_offset() -> None:
    index([letter(7), letter(3)])
    index([letter(5)])
    assert IndexPosition.objects.get().position == 8


def test_ends_are_stored_and_positions_never_go_back() -> None:
    index([letter(7)])
    where = ("usgs.earthquakes.dlq", 0)
    writer.note_ends("local", {where: 4}, {where: 20}, NOW)
    row = IndexPosition.objects.get()
    assert (row.position, row.end_offset) == (8, 20)


def test_a_position_behind_the_end_was_of_another_topic_of_this_name() -> None:
    index([letter(499)])
    where = ("usgs.earthquakes.dlq", 0)
    writer.note_ends("local", {where: 500}, {where: 30}, NOW)
    assert IndexPosition.objects.get().position == 0
    writer.note_ends("local", {where: 12}, {where: 30}, NOW)
    assert IndexPosition.objects.get().position == 12


def test_what_was_written_since_the_ends_were_asked_is_not_taken_back() -> None:
    index([letter(19)], now=NOW + timedelta(seconds=1))
    writer.note_ends("local", {("usgs.earthquakes.dlq", 0): 5}, {("usgs.earthquakes.dlq", 0): 15}, NOW)
    row = IndexPosition.objects.get()
    assert (row.position, row.end_offset, row.updated_at) == (20, 20, NOW + timedelta(seconds=1))


def test_what_was_forgotten_is_not_counted_again_when_it_comes_again(settings: Any) -> None:
    settings.RETENTION_DAYS = 2
    old = [letter(offset, at_ms=NOW_MS - 5 * 24 * HOUR_MS) for offset in range(6)]
    assert index(old[:5]) == 5
    retention.prune(NOW - timedelta(days=2))
    assert (index(old), index(old)) == (1, 0)
    assert (counted(CountHour), counted(CountDay), DeadLetter.objects.get().offset) == (6, 6, 5)


@pytest.mark.parametrize(
    "value", [None, b"", b"\xff\xfe\x00", b"not json", b"[1, 2", b"null", b"{}", b'{"a: 10}', b"0" * 10_000_000]
)
def test_what_no_dialect_knows_is_indexed_with_its_bytes(value: bytes | None) -> None:
    row = index_one(plain(1, value, key=None, headers=(("h", None), ("h", b""))))
    assert (row.readable, row.fingerprint.exception_class) == (False, "UnreadableDeadLetter")
    assert (None if row.body.value is None else bytes(row.body.value)) == value
    assert unpack_headers(bytes(row.body.headers)) == (("h", None), ("h", b""))
    assert row.value_size == (None if value is None else len(value))


def test_bytes_of_key_value_and_headers_are_kept_exactly() -> None:
    headers = (("a", b"1"), ("a", None), ("b", b"\x00\xff"), ("a", b""))
    row = index_one(letter(1, key=b"\xff\x00", value=b'{"n": 1.0e2, "n": 12345678901234567890}', headers=headers))
    assert bytes(row.body.key or b"") == b"\xff\x00"
    assert bytes(row.body.value or b"") == b'{"n": 1.0e2, "n": 12345678901234567890}'
    assert unpack_headers(bytes(row.body.headers))[:4] == headers


def test_text_that_no_database_stores_is_cleaned() -> None:
    row = index_one(letter(1, message="null \x00 byte", connector="c\x00", stage="S" * 500, exception="E" * 900))
    assert "\0" not in row.message + row.connector + row.fingerprint.message
    assert len(row.fingerprint.stage) == 40


def test_a_pointer_is_fetched_or_expired() -> None:
    item = parse_message(letter(1), NOW)
    fetched, expired = with_original(item, plain(9, b"whole", key=b"k")), with_original(item, None)
    assert (fetched.original, fetched.value, fetched.key) == ("fetched", b"whole", b"k")
    assert expired.original == "expired"


def test_a_title_names_the_column() -> None:
    assert index_one(letter(1, message=GAP)).fingerprint.group.title == "IntegrityError: earthquakes.gap is null"


def test_a_replayed_record_that_failed_again_is_known_by_its_last_headers() -> None:
    headers = ((ITEM, b"an older hop"), (ATTEMPT, b"9"), (ITEM, TOKEN), (ATTEMPT, b"2"))
    row = index_one(letter(1, headers=headers))
    assert (row.replay_item, row.replay_attempt) == (TOKEN.decode(), 2)


@pytest.mark.parametrize("dialect", ["kip298", "connect-headers", "unreadable"])
def test_every_dialect_knows_a_replayed_record(dialect: str) -> None:
    headers = ((ITEM, TOKEN), (ATTEMPT, b"1"))
    messages = {
        "kip298": plain(1, POINTER, headers=headers),
        "connect-headers": letter(1, headers=headers),
        "unreadable": plain(1, b"?", headers=headers),
    }
    row = index_one(messages[dialect])
    assert (row.dialect, row.replay_item, row.replay_attempt) == (dialect, TOKEN.decode(), 1)


@pytest.mark.parametrize(
    ("headers", "known"),
    [
        ((), (None, None)),
        (((ITEM, b""), (ATTEMPT, b"1")), (None, None)),
        (((ITEM, None), (ATTEMPT, b"1")), (None, None)),
        (((ITEM, b"x" * 61), (ATTEMPT, b"1")), (None, None)),
        (((ITEM, TOKEN),), (TOKEN.decode(), None)),
        (((ITEM, TOKEN), (ATTEMPT, b"often")), (TOKEN.decode(), None)),
        (((ITEM, TOKEN), (ATTEMPT, b"9" * 12)), (TOKEN.decode(), None)),
        (((ITEM, b"\xff\x00"), (ATTEMPT, b"1")), ("\ufffd\ufffd", 1)),
    ],
)
def test_odd_headers_of_a_replay_stop_nothing(headers: Headers, known: tuple[str | None, int | None]) -> None:
    row = index_one(letter(1, headers=headers))
    assert (row.replay_item, row.replay_attempt) == known


def test_a_fetched_original_keeps_its_own_headers() -> None:
    headers = (("a", b"1"), ("a", None), (ITEM, TOKEN), (ATTEMPT, b"1"))
    item = with_original(parse_message(plain(1, POINTER), NOW), plain(9, b"whole", key=b"k", headers=headers))
    writer.write([item], "local", NOW)
    row = DeadLetter.objects.select_related("body").get()
    assert unpack_headers(bytes(row.body.original_headers or b"")) == headers
    assert unpack_headers(bytes(row.body.headers)) == ()
    assert (row.replay_item, row.replay_attempt) == (TOKEN.decode(), 1)


def test_headers_of_an_original_that_the_message_carries_are_not_kept_twice() -> None:
    assert index_one(letter(1)).body.original_headers is None


def test_origin_topics_are_kept_once_for_each_source_and_not_when_they_are_unknown() -> None:
    index([letter(1), letter(2), letter(3, connector="other"), plain(4, b"x")])
    index([letter(5), letter(6, topic="second.dlq")])
    assert sorted(OriginSource.objects.values_list("cluster", "topic", "connector", "origin_topic")) == [
        ("local", "second.dlq", "usgs-to-sql", "usgs.earthquakes"),
        ("local", "usgs.earthquakes.dlq", "other", "usgs.earthquakes"),
        ("local", "usgs.earthquakes.dlq", "usgs-to-sql", "usgs.earthquakes"),
    ]
