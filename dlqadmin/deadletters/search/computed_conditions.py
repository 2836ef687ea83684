"""Conditions of the filters that compare more than one column, or a value derived from the column."""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence

from django.db.models import CharField, Q, Value
from django.db.models.functions import Coalesce, Substr
from django.db.models.lookups import Exact

from dlqadmin.deadletters.index.column_values import key_hash
from dlqadmin.deadletters.index.fingerprint import normalise
from dlqadmin.deadletters.index.group_links import current_groups
from dlqadmin.deadletters.index.words import WORD, contains_words
from dlqadmin.deadletters.models import Fingerprint
from dlqadmin.deadletters.search.query_values import read_value


def has_exception(values: Sequence[str]) -> Q:
    """Return a condition for fingerprints with any of these exceptions, with or without their package."""
    condition = Q(exception_class__in=values)
    for value in values:
        condition |= Q(exception_class__endswith=f".{value}")
    return condition


def in_group(values: Sequence[str]) -> Q:
    """Return a condition for fingerprints in any of these groups. A merged group stands for its successor."""
    return Q(group_id__in=set(current_groups([int(value) for value in values]).values()))


def has_key(values: Sequence[str]) -> Q:
    """Return a condition for dead letters with any of these keys."""
    return Q(key_hash__in=[key_hash(_key_bytes(value)) for value in values])


def matches_key(values: Sequence[str]) -> Q:
    """Return a condition for dead letters with any of these keys or prefixes of keys, as queries write them."""
    read = [read_value(value) for value in values]
    whole = [value.text for value in read if not value.prefix]
    ways = [has_key(whole)] if whole else []
    return functools.reduce(operator.or_, ways + [_key_begins(value.text) for value in read if value.prefix])


def has_message(values: Sequence[str]) -> Q:
    """Return a condition for dead letters whose message contains any of these words or phrases.

    The index of words finds candidates. It also contains the words of keys and values, so the message is
    compared as well.
    """
    return functools.reduce(operator.or_, (contains_words([value]) & _message_contains(value) for value in values))


def was_replayed_by(values: Sequence[str]) -> Q:
    """Return a condition for dead letters of records that any of these replays, or items of replays, sent."""
    items = Q(replay_item__in=values)
    return functools.reduce(operator.or_, (Q(replay_item__startswith=f"{value}/") for value in values), items)


def has_text(values: Sequence[str]) -> Q:
    """Search parts of normalised group messages and exception names, or whole keys."""
    ids = {pk for value in values for part in (value, normalise(value)[0]) for pk in fingerprints_with([part])}
    return Q(fingerprint_id__in=ids) | has_key(values)


def fingerprints_with(parts: Sequence[str]) -> list[int]:
    """Return the fingerprints whose normalised message or exception contains every part."""
    rows = Fingerprint.objects.all()
    for part in parts:
        rows = rows.filter(Q(message__icontains=part) | Q(exception_class__icontains=part))
    return list(rows.order_by("pk").values_list("pk", flat=True))


def _message_contains(text: str) -> Q:
    value = read_value(text)
    # The separators are groups and not brackets, because older PostgreSQL has no `\W` within brackets.
    phrase = r"(\W|_)+".join(WORD.findall(value.text))
    return Q(message__iregex=rf"(^|\W|_){phrase}" + ("" if value.prefix else r"(\W|_|$)"))


def _key_begins(prefix: str) -> Q:
    """Compare the beginnings of keys. The index of words finds candidates if the prefix contains a word."""
    # A function and not LIKE, which ignores case on SQLite.
    begins = Q(Exact(Substr(Coalesce("key_text", Value("")), 1, len(prefix), output_field=CharField()), Value(prefix)))
    return contains_words([f"{prefix}*"]) & begins if WORD.search(prefix) else begins


def _key_bytes(text: str) -> bytes:
    """Return the bytes of a key in the notation of `key_text`."""
    if text.startswith("0x"):
        try:
            return bytes.fromhex(text[2:])
        except ValueError:
            pass
    return text.encode("utf-8", "replace")
