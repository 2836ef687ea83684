"""Records and keys whose content was erased, so that no writer stores it again."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Collection, Iterable, Mapping, Sequence

from dlqadmin.audit import digests
from dlqadmin.deadletters.index.message_parser import without_content
from dlqadmin.deadletters.index.parsed_message import ParsedMessage
from dlqadmin.deadletters.models import DeadLetter, ErasedKey, ErasedRecord, Original

Coordinates = tuple[str, int, int]
PART = 500  # ids in one statement


def key_digest(key: bytes) -> str:
    """Return the HMAC of a key under the present AUDIT_KEY. Nobody can find the key by trying all keys."""
    return _digest(digests.keys()[-1], key)


def without_erased(
    batch: Sequence[ParsedMessage], cluster: str, positions: Mapping[tuple[str, int], int]
) -> list[ParsedMessage]:
    """Return the messages that were not erased.

    Only an indexed record can be erased. So messages beyond the indexed positions, as all new ones are, cost no query.
    """
    offsets: dict[tuple[str, int], list[int]] = {}
    for item in batch:
        message = item.message
        if message.offset < positions[message.topic, message.partition]:
            offsets.setdefault((message.topic, message.partition), []).append(message.offset)
    erased = _erased(offsets, cluster)
    return [item for item in batch if _place(item) not in erased] if erased else list(batch)


def withhold(batch: Sequence[ParsedMessage]) -> list[ParsedMessage]:
    """Return the messages, those with an erased key without their content.

    Call it while the watermark is held: an erasure stores its key first and reads the watermark then. So each letter
    of the key is either below that watermark, or its writer finds the key here.
    """
    wanted = frozenset(ErasedKey.objects.values_list("digest", flat=True))
    if not wanted:
        return list(batch)
    keys = digests.keys()  # an older key of the audit trail made the digests of older erasures

    def is_erased(item: ParsedMessage) -> bool:
        return item.key is not None and any(_digest(key, item.key) in wanted for key in keys)

    return [without_content(item) if is_erased(item) else item for item in batch]


def lock_unerased(dead_letters: Iterable[int]) -> set[int]:
    """Lock these dead letters and return those that are not erased. An erasure waits until the commit.

    Whoever stores something that was read from their content calls this first.
    """
    wanted, found = sorted(set(dead_letters)), set[int]()
    for start in range(0, len(wanted), PART):
        rows = DeadLetter.objects.select_for_update(of=("self",), no_key=True).order_by("pk")
        rows = rows.filter(pk__in=wanted[start : start + PART]).exclude(original=Original.ERASED)
        found.update(rows.values_list("pk", flat=True))
    return found


def _erased(offsets: Mapping[tuple[str, int], Collection[int]], cluster: str) -> set[Coordinates]:
    found: set[Coordinates] = set()
    for (topic, partition), wanted in offsets.items():
        rows = ErasedRecord.objects.filter(
            cluster=cluster, topic=topic, partition=partition, offset__gte=min(wanted), offset__lte=max(wanted)
        )
        found.update((topic, partition, offset) for offset in rows.values_list("offset", flat=True))
    return found


def _place(item: ParsedMessage) -> Coordinates:
    return (item.message.topic, item.message.partition, item.message.offset)


def _digest(secret: bytes, key: bytes) -> str:
    return hmac.new(secret, b"dlqadmin.erased.key:" + key, hashlib.sha256).hexdigest()
