from __future__ import annotations

import pytest
from django.contrib.auth.models import User

from dlqadmin.deadletters.index.word_index import queue, write_queued_words
from dlqadmin.deadletters.models import DeadLetter, DeadLetterText, DecodedValue, QueuedDecoding
from dlqadmin.deadletters.search.candidates import MAX_VALUE_BYTES
from dlqadmin.replays.selections import frozen_selections
from dlqadmin.rest.idempotency import RequestKey
from dlqadmin.rest.problems import ParameterError
from tests.dlqadmin.deadletters.letters import NOW, index, letter

pytestmark = pytest.mark.django_db
WEEK = "from=2026-11-14T00:00:00Z&to=2026-11-22T00:00:00Z"


@pytest.mark.parametrize("query", ["zebra", "-zebra", "zebra value.word:zebra"])
def test_words_select_nothing_while_text_waits_and_the_same_for_ever_after(operator: User, query: str) -> None:
    index([letter(1, value=b'{"word": "zebra"}'), letter(2)])
    with pytest.raises(ParameterError, match="not searchable yet"):
        frozen_selections.by_filter(f"q={query}&{WEEK}", operator, RequestKey(), NOW)
    write_queued_words()
    chosen = frozen_selections.by_filter(f"q={query}&{WEEK}", operator, RequestKey(), NOW)
    index([letter(3, value=b'{"word": "zebra"}')])
    write_queued_words()
    assert (chosen.count, frozen_selections.drifted(chosen)) == (1, False)


@pytest.mark.parametrize("query", ["zebra", "-horse"])
def test_words_of_values_that_are_decoded_later_keep_the_same_records(operator: User, query: str) -> None:
    index([letter(1, value=b"\x00\x00\x00\x00\x07 zebra"), letter(2, value=b"\x00\x00\x00\x00\x07 horse")])
    write_queued_words()
    chosen = frozen_selections.by_filter(f"q={query}&{WEEK}", operator, RequestKey(), NOW)
    queued = QueuedDecoding.objects.all()
    for row in DeadLetter.objects.filter(pk__in=queued.values("pk")):
        DecodedValue.objects.create(dead_letter=row, json=b'{"decoded": "horse"}')
        DeadLetterText.objects.filter(pk=row.pk).delete()
        queue([row.pk], NOW)
    queued.delete()
    write_queued_words()
    assert (chosen.count, frozen_selections.drifted(chosen)) == (1, False)


def test_values_too_long_to_look_into_select_nothing(operator: User) -> None:
    index([letter(1, value=b'{"a": 1, "b": "%s"}' % (b"y" * MAX_VALUE_BYTES)), letter(2, value=b'{"a": 2}')])
    with pytest.raises(ParameterError, match="1 MB"):
        frozen_selections.by_filter(f"q=-value.a:1&{WEEK}", operator, RequestKey(), NOW)
