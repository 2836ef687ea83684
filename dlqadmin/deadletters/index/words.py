"""Full-text search: the words that are stored of a dead letter, and queries for words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from django.db import connection
from django.db.models import Q
from django.db.models.expressions import RawSQL

from dlqadmin.deadletters.models import DeadLetterText, TextBatch

WORD = re.compile(r"[^\W_]+")
MAX_WORD = 60  # characters; the rest of a longer word is not searched


class Phrase(NamedTuple):
    """Words that follow one another. The last one may be a prefix."""

    words: Sequence[str]
    is_beginning: bool


def contains_words(words: Sequence[str]) -> Q:
    """Return a condition for dead letters whose text contains every word.

    `null` is a word, `colu*` a prefix, `"two words"` a phrase. A word with punctuation is a phrase too:
    `orders.amount` finds the two words one after another. Words of punctuation only are ignored. If no other
    word is left, nothing matches.
    """
    phrases = [phrase for word in words if (phrase := _phrase(word)).words]
    if not phrases:
        return Q(pk__in=[])
    condition, query = _postgres(phrases) if connection.vendor == "postgresql" else _sqlite(phrases)
    sql = f"SELECT rowid FROM {DeadLetterText._meta.db_table} WHERE {condition}"  # noqa: S608 (words are parameters)
    return Q(pk__in=RawSQL(sql, [query]))  # noqa: S611 (the same)


def has_backlog() -> bool:
    """Return whether some text cannot be searched yet."""
    return TextBatch.objects.exists()


def words_of(text: str) -> list[str]:
    """Split a text into searchable words: letters and digits, case-folded."""
    return [word[:MAX_WORD] for word in WORD.findall(text.casefold())]


def document(words: Sequence[str]) -> str:
    """Return the words in the format of the column, with their positions on PostgreSQL."""
    if connection.vendor != "postgresql":
        return " ".join(words)
    places: dict[str, list[str]] = {}
    for place, word in enumerate(words, 1):
        places.setdefault(word, []).append(str(place))
    return " ".join(f"'{word}':{','.join(found)}" for word, found in places.items())


def _phrase(text: str) -> Phrase:
    return Phrase(words_of(text), text.endswith("*"))


def _postgres(phrases: Sequence[Phrase]) -> tuple[str, str]:
    parts = [" <-> ".join(f"'{word}'" for word in phrase.words) for phrase in phrases]
    ends = [":*" if phrase.is_beginning else "" for phrase in phrases]
    return "document @@ %s::tsquery", " & ".join(f"({part}{end})" for part, end in zip(parts, ends, strict=True))


def _sqlite(phrases: Sequence[Phrase]) -> tuple[str, str]:
    parts = [" ".join(phrase.words) for phrase in phrases]
    ends = [" *" if phrase.is_beginning else "" for phrase in phrases]
    return "document MATCH %s", " AND ".join(f'"{part}"{end}' for part, end in zip(parts, ends, strict=True))
