"""Write the search text of dead letters after their rows: oldest first, in slices.

The indexer writes text when it has no records to index. So one process is enough, and text never delays a
row. If that is too slow, `manage.py index_text` helps. A slice leaves the queue in the transaction that
writes its words, so a kill neither loses nor duplicates text.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import datetime

import msgspec
from django.db import IntegrityError, transaction
from django.db.models import BinaryField, Max, Min, QuerySet, Sum
from django.db.models.functions import Coalesce, Substr

from dlqadmin.deadletters.index.bulk_insert import BulkTable, bulk
from dlqadmin.deadletters.index.removal import hold
from dlqadmin.deadletters.index.words import document, words_of
from dlqadmin.deadletters.models import DeadLetter, DeadLetterText, TextBatch

SLICE = 500
TRIES = 3
QUEUED_AT_ONCE = 5000
VALUE_BYTES = 4096  # of the original value; later bytes are not searched
TEXTS = BulkTable(DeadLetterText, {"rowid": "int8", "document": "tsvector"})


class TextBacklog(msgspec.Struct, frozen=True):
    """The number of dead letters without search text, and since when the oldest waits."""

    records: int = 0
    since: datetime | None = None


def pack(ids: Sequence[int]) -> bytes:
    """Pack ids of dead letters as a batch stores them."""
    return msgspec.msgpack.encode(list(ids))


def unpack(data: bytes | memoryview) -> list[int]:
    """Return the ids that `pack` packed."""
    return msgspec.msgpack.decode(data, type=list[int])


def queue(ids: Sequence[int], now: datetime) -> None:
    """Queue these dead letters, so that their words are written later."""
    TextBatch.objects.create(ids=pack(ids), n=len(ids), at=now)


def write_queued_words(limit: int = SLICE) -> int:
    """Write the words of the oldest batch; return how many dead letters left the queue.

    Returns 0 if the queue is empty or another process has locked it.
    """
    if not TextBatch.objects.exists():  # on SQLite, a transaction would block other writers
        return 0
    for _ in range(TRIES - 1):
        with suppress(IntegrityError):  # rows were removed meanwhile, or another batch contains them too
            return _write_oldest_batch(limit)
    return _write_oldest_batch(limit)


def _write_oldest_batch(limit: int) -> int:
    with transaction.atomic():
        # Several processes share the queue; each takes the oldest batch that nobody else works on.
        batch = TextBatch.objects.select_for_update(skip_locked=True).order_by("pk").first()
        if batch is None:
            return 0
        ids = unpack(batch.ids)
        part, rest = ids[:limit], ids[limit:]
        hold(part)
        bulk().insert(TEXTS, list(text_rows(DeadLetter.objects.filter(pk__in=part))))
        if rest:
            batch.ids, batch.n = pack(rest), len(rest)
            batch.save(update_fields=["ids", "n"])
        else:
            batch.delete()
    return len(part)


def queue_missing(now: datetime) -> int:
    """Queue all dead letters that have no words and are not queued; return the number.

    Dead letters that were indexed before words were stored have none.
    """
    last, queued = 0, 0
    newest = DeadLetter.objects.aggregate(last=Max("pk"))["last"] or 0
    waiting = {pk for ids in TextBatch.objects.values_list("ids", flat=True).iterator() for pk in unpack(ids)}
    while last < newest:
        rows = DeadLetter.objects.filter(pk__gt=last, pk__lte=last + QUEUED_AT_ONCE, text__isnull=True)
        if ids := [pk for pk in rows.order_by("pk").values_list("pk", flat=True) if pk not in waiting]:
            queue(ids, now)
        last, queued = last + QUEUED_AT_ONCE, queued + len(ids)
    return queued


def text_backlog() -> TextBacklog:
    """Return how far the text is behind the rows."""
    found = TextBatch.objects.aggregate(records=Sum("n"), since=Min("at"))
    return TextBacklog(found["records"] or 0, found["since"])


def text_rows(letters: QuerySet[DeadLetter]) -> Iterator[tuple[int, str]]:
    """Yield the rows of TEXTS of those dead letters that have none yet."""
    # Cut in SQL, so that a value of several megabytes does not cross the connection for its first words.
    start = Substr(Coalesce("decoded__json", "body__value"), 1, VALUE_BYTES, output_field=BinaryField())
    rows = letters.filter(text__isnull=True).order_by("pk")
    for pk, value, *texts in rows.values_list("pk", start, "message", "fingerprint__exception_class", "key_text"):
        yield pk, document(words_of(" ".join([*(text or "" for text in texts), _text_prefix(value)])))


def _text_prefix(value: bytes | memoryview | None) -> str:
    """Return the start of a value as text, or an empty text if it is not UTF-8.

    A character that the cut broke is left out.
    """
    data = b"" if value is None else bytes(value)
    try:
        return codecs.getincrementaldecoder("utf-8")().decode(data, final=len(data) < VALUE_BYTES)
    except UnicodeDecodeError:
        return ""
