"""The dead letters that a request chooses, by a key or by the filter of a list."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec
from django.contrib.auth.models import User

from dlqadmin.deadletters.index.column_values import key_hash
from dlqadmin.deadletters.index.erased_records import key_digest
from dlqadmin.deadletters.index.watermark import complete_up_to
from dlqadmin.deadletters.models import DeadLetter, Original
from dlqadmin.deadletters.records.details import as_bytes
from dlqadmin.replays.batches import parts
from dlqadmin.replays.selections import frozen_selections
from dlqadmin.rest.problems import ParameterError

MAX_LETTERS = 200_000  # in one erasure


class ChosenLetters(msgspec.Struct, frozen=True):
    """The dead letters to erase, ascending, without those that were erased before."""

    ids: Sequence[int]
    erased_before: int
    title: str
    watermark: int
    key: bytes | None = None

    @property
    def key_digest(self) -> str:
        """An HMAC of the key; "" for a filter."""
        return "" if self.key is None else key_digest(self.key)


def choose(body: Mapping[str, Any], actor: User) -> ChosenLetters:
    """Return the dead letters that the body chooses now. Raises ParameterError if there are too many."""
    if (key := body.get("key")) is not None:
        watermark = complete_up_to()
        ids: Iterable[int] = with_keys({key}, watermark)
        title = "records with one key"
    else:
        present = frozen_selections.present_letters(body["filter"], actor)
        ids, watermark, title = present.ids, present.watermark, frozen_selections.title_of(present.filters)
        if body["include_origin_key"]:
            ids = {*ids, *with_keys(keys_of(present.ids), watermark)}
            title = f"{title[:250]}; and records with their keys"
    wanted = sorted(ids)
    if len(wanted) > MAX_LETTERS:
        parameter = "filter" if key is None else "key"
        raise ParameterError(parameter, f"matches more than {MAX_LETTERS:,} records, the limit for one erasure")
    before = erased_among(wanted)
    left = [pk for pk in wanted if pk not in before]
    return ChosenLetters(left, len(before), title[:300], watermark, key)


def with_keys(keys: set[bytes], watermark: int) -> set[int]:
    """Return the dead letters with exactly these keys. The hash finds them, then the bytes are compared."""
    hashes = sorted({one for key in keys if (one := key_hash(key)) is not None})
    found: set[int] = set()
    for part in parts(hashes):
        rows = DeadLetter.objects.filter(key_hash__in=part, pk__lte=watermark)
        for pk, key in rows.values_list("pk", "body__key").iterator(chunk_size=2000):
            if as_bytes(key) in keys:
                found.add(pk)
    return found


def keys_of(ids: Sequence[int]) -> set[bytes]:
    """Return the keys of these dead letters. A null key belongs to nobody, so it is left out."""
    return {key for part in parts(ids) for key in _keys(part) if key is not None}


def erased_among(ids: Sequence[int]) -> set[int]:
    """Return those dead letters that were erased before."""
    return {
        pk
        for part in parts(ids)
        for pk in DeadLetter.objects.filter(pk__in=part, original=Original.ERASED).values_list("pk", flat=True)
    }


def _keys(part: Sequence[int]) -> Iterator[bytes | None]:
    rows = DeadLetter.objects.filter(pk__in=part).values_list("body__key", flat=True)
    return (as_bytes(key) for key in rows)
