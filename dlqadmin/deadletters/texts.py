"""The text of dead letters: the words that are kept of one, and which dead letters have given words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from django.db import connection
from django.db.models import Q
from django.db.models.expressions import RawSQL

from dlqadmin.deadletters.models import DeadLetterText, TextBatch

WORD = re.compile(r"[^\W_]+")
MAX_WORD = 60  # characters; what follows in a longer one is not searched


class Phrase(NamedTuple):
    """Words that follow one another; the last may be the beginning of a longer one."""

    words: Sequence[str]
    is_beginning: bool


def matching(words: Sequence[str]) -> Q:
    """Dead letters whose text holds every word: `null`, `colu*` by its beginning, `"two words"` as a phrase.

    What holds punctuation is a phrase, too: `orders.amount` finds the two one after another. A word of nothing but
    punctuation is let go; without any other nothing matches.
    """
    phrases = [phrase for word in words if (phrase := _phrase(word)).words]
    if not phrases:
        return Q(pk__in=[])
    condition, query = _postgres(phrases) if connection.vendor == "postgresql" else _sqlite(phrases)
    sql = f"SELECT rowid FROM {DeadLetterText._meta.db_table} WHERE {condition}"  # noqa: S608 (words are parameters)
    return Q(pk__in=RawSQL(sql, [query]))  # noqa: S611 (the same)


def waits() -> bool:
    """Is there text that no word finds yet?"""
    return TextBatch.objects.exists()


def words_of(text: str) -> list[str]:
    """The words of a text as they are searched: letters and digits only, upper and lower case alike."""
    return [word[:MAX_WORD] for word in WORD.findall(text.casefold())]


def document(words: Sequence[str]) -> str:
    """The words as this database's column takes them, each with its places."""
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
