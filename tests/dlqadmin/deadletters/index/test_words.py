from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from dlqadmin.deadletters.index import word_index
from dlqadmin.deadletters.index.removal import remove
from dlqadmin.deadletters.index.words import contains_words
from dlqadmin.deadletters.models import DeadLetter, DeadLetterText, TextBatch
from tests.dlqadmin.deadletters.letters import NOW, index, letter

pytestmark = [pytest.mark.django_db, pytest.mark.sql]
VALUE = '{"place": "4 km W of Zürich", "trace_id": "ab12", "gap": null}'.encode()
LONG = b"w" * 100


def found(*words: str) -> list[int]:
    rows = DeadLetter.objects.filter(contains_words(words))
    return sorted(rows.values_list("offset", flat=True))


def searchable(*values: bytes | None, **more: Any) -> None:
    index([letter(offset, value=value, **more) for offset, value in enumerate(values)])
    while word_index.write_queued_words():
        pass


@pytest.mark.parametrize(
    "words",
    [
        ["place"],
        ["PLACE"],
        ["zürich"],
        ["Zür*"],
        ["km W of"],
        ['"km w of"'],
        ["trace_id"],
        ["trace_i*"],
        ["ab12", "gap", "null"],
        ["→", "gap"],
        ["ci37868135"],
        ["IntegrityError"],
        ["sqlalchemy.exc.IntegrityError"],
        ["constraint failed: earthquakes.g*"],
    ],
)
def test_words_of_value_message_exception_and_key_are_found(words: list[str]) -> None:
    searchable(VALUE)
    assert found(*words) == [0]


@pytest.mark.parametrize(
    "words",
    [
        ["zurich"],
        ["zür"],
        ["km of W"],
        ["place", "nowhere"],
        ["earthquakes null"],
        ["'); DROP TABLE x; --"],
        ["a' & !'b"],
        ['" OR 1 *'],
        ["→"],
        [],
        ["*"],
    ],
)
def test_what_is_not_there_or_asks_for_no_word_finds_nothing(words: list[str]) -> None:
    searchable(VALUE)
    assert found(*words) == []


def test_values_that_are_not_text_or_null_are_found_by_the_rest() -> None:
    searchable(b"\xff\xfeplace", None, VALUE)
    assert (found("place"), found("gap")) == ([2], [0, 1, 2])


def test_text_is_searched_up_to_four_thousand_bytes_and_sixty_characters_of_a_word() -> None:
    searchable(b"x " * 2040 + b"near " + b"far " * 20, "é".encode() * 3000, LONG, b"first " * 500)
    assert (found("near"), found("far"), found("é*")) == ([0], [0], [1])
    searchable_words = DeadLetterText.objects.count()
    assert (found("w" * 60), found("w" * 99), found("w" * 61 + "*"), searchable_words) == ([2], [2], [2], 4)


def test_a_dead_letter_is_listed_before_it_is_searchable_and_the_oldest_are_written_first() -> None:
    index([letter(offset) for offset in range(5)])
    index([letter(9)], now=NOW + timedelta(seconds=5))
    assert word_index.text_backlog() == word_index.TextBacklog(6, NOW)
    assert (word_index.write_queued_words(3), found("gap")) == (3, [0, 1, 2])
    assert (word_index.write_queued_words(3), found("gap")) == (2, [0, 1, 2, 3, 4])
    assert word_index.text_backlog() == word_index.TextBacklog(1, NOW + timedelta(seconds=5))
    assert (word_index.write_queued_words(), word_index.write_queued_words(), found("gap")) == (
        1,
        0,
        [0, 1, 2, 3, 4, 9],
    )


def test_a_slice_that_fails_is_written_later_and_once(monkeypatch: pytest.MonkeyPatch) -> None:
    index([letter(offset) for offset in range(3)])

    def broken(*_: object) -> None:
        raise OSError("killed")

    with monkeypatch.context() as patched:
        patched.setattr(TextBatch, "delete", broken)
        with pytest.raises(OSError, match="killed"):
            word_index.write_queued_words()
    assert (DeadLetterText.objects.count(), word_index.text_backlog().records) == (0, 3)
    assert word_index.write_queued_words() == 3
    assert DeadLetterText.objects.count() == 3


def test_what_was_removed_meanwhile_has_no_text_and_takes_its_text_with_it() -> None:
    index([letter(1), letter(2)])
    remove([DeadLetter.objects.get(offset=1).pk])
    assert (word_index.write_queued_words(), found("gap")) == (2, [2])
    remove([DeadLetter.objects.get(offset=2).pk])
    assert DeadLetterText.objects.count() == 0


def test_dead_letters_of_before_there_was_text_can_be_queued_and_none_is_written_twice() -> None:
    searchable(VALUE)
    index([letter(1), letter(2)])
    TextBatch.objects.all().delete()
    assert [word_index.queue_missing(NOW), word_index.queue_missing(NOW)] == [2, 0]
    assert word_index.text_backlog().records == 2
    while word_index.write_queued_words():
        pass
    assert found("gap") == [0, 1, 2]
