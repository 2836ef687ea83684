"""The indexer beside others who write to the index."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from django.db import IntegrityError, transaction

from dlqadmin.deadletters.index import reindex, word_index, writer
from dlqadmin.deadletters.index.message_parser import parse_message
from dlqadmin.deadletters.index.removal import hold, hold_all, lock_free, remove
from dlqadmin.deadletters.models import CountHour, DeadLetter, DeadLetterText, IndexPosition
from tests.dlqadmin.deadletters.conftest import Beside
from tests.dlqadmin.deadletters.letters import NOW, NST, index, letter

pytestmark = [pytest.mark.sql, pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("several_writers")]
SOON_S = 0.5
WHERE = ("usgs.earthquakes.dlq", 0)


def test_ends_that_are_noted_while_a_batch_is_written_do_not_take_its_position_back(beside: Beside) -> None:
    index([letter(offset) for offset in range(5)])
    with transaction.atomic():
        index([letter(offset) for offset in range(5, 20)])
        noting = beside(lambda: writer.note_ends("local", {WHERE: 5}, {WHERE: 20}, NOW))
        with pytest.raises(TimeoutError):
            noting.result(SOON_S)
    noting.result(60)
    assert IndexPosition.objects.get().position == 20


def test_who_waits_for_a_new_partition_keeps_nobody_from_another(beside: Beside) -> None:
    index([letter(0, partition=1)])
    with transaction.atomic():
        index([letter(0)])
        other = beside(lambda: index([letter(1), letter(1, partition=1)]))
        with pytest.raises(TimeoutError):
            other.result(SOON_S)
        assert index([letter(2, partition=1)]) == 1
    assert other.result(60) == 2


def test_the_indexer_and_who_reads_a_topic_again_do_not_wait_for_each_other(
    beside: Beside, monkeypatch: pytest.MonkeyPatch
) -> None:
    index([letter(offset) for offset in range(3)])
    known, made, on = writer._fingerprints, threading.Event(), threading.Event()

    def slowly(*arguments: Any) -> dict[str, int]:
        found = known(*arguments)
        if not made.is_set():
            made.set()
            on.wait(60)
        return found

    monkeypatch.setattr(writer, "_fingerprints", slowly)
    again = [parse_message(letter(offset, message=NST), NOW) for offset in range(3)]
    indexer = beside(lambda: index([letter(1, partition=1, message=NST), letter(2, partition=1)]))
    assert made.wait(60)
    reader = beside(lambda: reindex.rewrite(again, "local", NOW))
    with pytest.raises(TimeoutError):
        reader.result(SOON_S)
    on.set()
    assert (indexer.result(60), reader.result(60)) == (2, 3)
    assert sorted(CountHour.objects.values_list("n", flat=True)) == [1, 4]


def test_two_who_write_the_words_of_the_same_dead_letters_both_come_to_their_end(beside: Beside) -> None:
    index([letter(1), letter(2)])
    word_index.queue([*DeadLetter.objects.values_list("pk", flat=True)], NOW)
    with transaction.atomic():
        assert word_index.write_queued_words() == 2
        other = beside(word_index.write_queued_words)
        with pytest.raises(TimeoutError):
            other.result(SOON_S)
    assert other.result(60) == 2
    assert (DeadLetterText.objects.count(), word_index.text_backlog().records) == (2, 0)


def test_words_of_what_is_removed_at_the_same_time_are_not_written(beside: Beside) -> None:
    index([letter(1), letter(2)])
    with transaction.atomic():
        remove([DeadLetter.objects.get(offset=1).pk])
        filling = beside(word_index.write_queued_words)
        with pytest.raises(TimeoutError):
            filling.result(SOON_S)
    assert filling.result(60) == 2
    assert DeadLetterText.objects.get().dead_letter.offset == 2


def test_who_holds_a_dead_letter_waits_for_its_removal_and_learns_of_it(beside: Beside) -> None:
    index([letter(1), letter(2)])
    gone, there = DeadLetter.objects.order_by("offset").values_list("pk", flat=True)

    def refer() -> None:
        with transaction.atomic():
            hold_all([gone, there])

    with transaction.atomic():
        remove([row.pk for row in lock_free(DeadLetter.objects.filter(pk=gone))])
        holding = beside(refer)
        with pytest.raises(TimeoutError):
            holding.result(SOON_S)
    with pytest.raises(IntegrityError, match="1 of the dead letters have left the index"):
        holding.result(60)


def test_a_dead_letter_that_somebody_holds_is_not_removed(beside: Beside) -> None:
    index([letter(1), letter(2)])
    held, free = DeadLetter.objects.order_by("offset").values_list("pk", flat=True)

    def remove_free() -> int:
        with transaction.atomic():
            return remove([row.pk for row in lock_free(DeadLetter.objects.all(), skip_locked=True)])

    with transaction.atomic():
        assert hold([held]) == {held}
        assert beside(remove_free).result(60) == 1
    assert list(DeadLetter.objects.values_list("pk", flat=True)) == [held] != [free]
