"""Items and their message bytes, read as plain rows for speed.

A replay can have a million items.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import msgspec
from django.db.models import QuerySet

from dlqadmin.deadletters.index.column_values import unpack_headers
from dlqadmin.deadletters.models import LOST
from dlqadmin.deadletters.records.details import as_bytes
from dlqadmin.replays.items.messages import MappedHeaders, Outgoing, Unsendable, kept
from dlqadmin.replays.models import Replay, ReplayItem

_COLUMNS = (
    "pk",
    "ordinal",
    "dead_letter_id",
    "target_topic",
    "target_partition",
    "attempt",
    "state",
    "reason",
    "watched",
    "edited",
    "dead_letter__original",
    "dead_letter__dialect",
    "dead_letter__origin_timestamp",
    "dead_letter__topic",
    "dead_letter__partition",
    "dead_letter__offset",
)
_BODY = tuple(
    f"dead_letter__body__{name}" for name in ("dead_letter_id", "key", "value", "headers", "original_headers")
)
_PAYLOAD = tuple(f"payload__{name}" for name in ("item_id", "key", "value", "headers"))


class Loaded(msgspec.Struct):
    """An item with the columns of its message.

    `mapped` is as in `Replay.mapped_headers`. The `sent_*` fields are set once the record is written.
    """

    pk: int
    ordinal: int
    dead_letter: int
    target_topic: str
    target_partition: int | None
    attempt: int
    state: str
    reason: str
    watched: str
    edited: bool
    original: str
    dialect: str
    origin_timestamp: datetime | None
    letter_topic: str
    letter_partition: int
    letter_offset: int
    body: Sequence[Any]
    payload: Sequence[Any]
    mapped: MappedHeaders | None
    sent_partition: int | None = None
    sent_offset: int | None = None
    sent_digest: str = ""
    sent_at: datetime | None = None

    @property
    def letter(self) -> str:
        """The coordinates of the dead letter, as the header `dlq.replay.letter` has them."""
        return f"{self.letter_topic}/{self.letter_partition}/{self.letter_offset}"

    @property
    def timestamp_ms(self) -> int | None:
        """The timestamp of the original record in milliseconds. None if it is unknown."""
        at = self.origin_timestamp
        return None if at is None else round(at.timestamp() * 1000)

    def message(self) -> Outgoing:
        """Return the edited message, or the original record if it was not edited.

        Raises Unsendable if its bytes are lost or can't be read.
        """
        try:
            if self.edited:
                found, key, value, headers = self.payload
                own = headers
            else:
                found, key, value, headers, own = self.body
                if self.original in LOST:
                    raise Unsendable("its original bytes are not available")
            if found is None:
                raise Unsendable("its bytes are missing")
            packed = unpack_headers(bytes(headers if own is None else own))
        except msgspec.MsgspecError as error:
            raise Unsendable(f"its bytes can't be read: {error}") from error
        sent = packed if self.edited else kept(packed, self.dialect, self.mapped)
        return Outgoing(as_bytes(key), as_bytes(value), sent)


def load(replay: Replay, items: QuerySet[ReplayItem]) -> list[Loaded]:
    """Read these items of the replay, ordered by ordinal."""
    rows = items.order_by("ordinal").values_list(*_COLUMNS, *_BODY, *_PAYLOAD)
    facts, bodies = len(_COLUMNS), len(_COLUMNS) + len(_BODY)
    return [Loaded(*(*row[:facts], row[facts:bodies], row[bodies:], replay.mapped_headers)) for row in rows]


def token(replay: Replay, ordinal: int) -> str:
    """Return the item's value of the header `dlq.replay.item`, equal to `ReplayItem.token`."""
    return f"{replay.uuid}/{ordinal}"
