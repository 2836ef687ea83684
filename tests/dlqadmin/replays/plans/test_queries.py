"""Selections by the query language: what the list shows is what is frozen."""

from __future__ import annotations

from urllib.parse import urlencode

import pytest
from django.contrib.auth.models import User

from dlqadmin.deadletters.index.word_index import write_queued_words
from dlqadmin.deadletters.search import candidates
from dlqadmin.replays.selections import frozen_selections
from dlqadmin.replays.selections.documents import selection_document
from dlqadmin.rest.idempotency import RequestKey
from dlqadmin.rest.problems import ParameterError
from tests.dlqadmin.deadletters.letters import NOW, NST, index, letter

pytestmark = [pytest.mark.django_db, pytest.mark.sql]


@pytest.fixture(autouse=True)
def _indexed(db: None) -> None:
    index(
        [
            *(letter(n, key=b"k%d" % n, value=b'{"gap": %d}' % (n % 2)) for n in range(6)),
            letter(10, message=NST, key=b"other"),
        ]
    )
    write_queued_words()


def address(query: str) -> str:
    return urlencode({"q": query, "from": "2026-11-14T00:00:00Z", "to": "2026-11-22T00:00:00Z"})


def frozen(query: str, operator: User) -> set[str | None]:
    chosen = frozen_selections.by_filter(address(query), operator, RequestKey(), NOW)
    found = set(frozen_selections.rows(chosen).values_list("key_text", flat=True))
    assert not frozen_selections.drifted(chosen)
    assert chosen.count == len(found)
    return found


@pytest.mark.parametrize(
    ("query", "keys"),
    [
        ("earthquakes.nst", {"other"}),
        ("dlq_offset:2..3,10", {"k2", "k3", "other"}),
        ("-earthquakes.gap", {"other"}),
        ("(dlq_offset:2..3 OR earthquakes.nst) topic:usgs*", {"k2", "k3", "other"}),
        ("value.gap:1", {"k1", "k3", "k5"}),
        ("value.gap:1 dlq_offset:<3", {"k1"}),
        ("-value.gap:0,1", {"other"}),
    ],
)
def test_a_query_freezes_what_it_lists(query: str, keys: set[str], operator: User) -> None:
    assert frozen(query, operator) == keys


def test_what_only_bytes_tell_stays_the_same_whatever_comes(operator: User) -> None:
    chosen = frozen_selections.by_filter(address("value.gap:1"), operator, RequestKey(), NOW)
    index([letter(20, value=b'{"gap": 1}')])
    assert (frozen_selections.rows(chosen).count(), frozen_selections.drifted(chosen)) == (3, False)


def test_nothing_is_frozen_of_what_was_looked_into_in_part(operator: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(candidates, "PROBED", 3)
    with pytest.raises(ParameterError, match="narrow it by time or topic"):
        frozen_selections.by_filter(address("value.gap:1"), operator, RequestKey(), NOW)


def test_a_wrong_query_freezes_nothing(operator: User) -> None:
    with pytest.raises(ParameterError, match="Did you mean `stage`"):
        frozen_selections.by_filter(address("stag:x"), operator, RequestKey(), NOW)


def test_a_frozen_choice_shows_no_content(operator: User) -> None:
    chosen = frozen_selections.by_filter(address("key:k2 OR dlq_offset:3"), operator, RequestKey(), NOW)
    shown = selection_document(chosen)
    assert "k2" not in str(shown)
    assert shown.title == "(key … or offset 3)"
    assert "'offset': ('3',)" in str(shown.filters)
