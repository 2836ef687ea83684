"""Read-ahead of a sender's next items.

Sizes are read for many items at once, bytes only for one chunk at a time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from django.db.models.functions import Length

from dlqadmin.replays.items.item_rows import Loaded, load
from dlqadmin.replays.models import ItemState, Replay, ReplayItem

AHEAD = 5000  # items whose sizes are read at once
MOST_BYTES = 4 * 1024 * 1024  # of one chunk: an open transaction holds back every read_committed consumer


class Window:
    """The queued items of a replay, in the order of sending.

    Only the sender that holds the replay uses it, and nobody else removes queued items meanwhile. `take` queues more
    planned items and returns False if there are none.
    """

    def __init__(self, replay: Replay, take: Callable[[], bool]) -> None:
        self._replay = replay
        self._take = take
        self._ahead: deque[tuple[int, int]] = deque()  # ordinal, bytes
        self._seen = -1  # the last ordinal that was read
        self._is_last = False

    def next(self, most: int, alone_before: int, begin: int = 0) -> list[Loaded]:
        """Return up to `most` items from the ordinal `begin` on, fewer if they are large.

        Before the ordinal `alone_before`, one item at a time is returned.
        """
        ahead = [row for row in self._ahead if row[0] >= begin]
        while len(ahead) < most and not self._is_last:
            ahead += self._look()
        chosen: list[int] = []
        size = 0
        for ordinal, length in ahead:
            size += length
            # A single record is sent however large it is.
            if len(chosen) == most or (chosen and (size > MOST_BYTES or ordinal < alone_before)):
                break
            chosen.append(ordinal)
        if not chosen:
            return []
        queued = ReplayItem.objects.filter(replay=self._replay, state=ItemState.QUEUED)
        return load(self._replay, queued.filter(ordinal__gte=chosen[0], ordinal__lte=chosen[-1]))

    def past(self, after: int) -> None:
        """Remove the items before this ordinal: they are sent or skipped."""
        while self._ahead and self._ahead[0][0] < after:
            self._ahead.popleft()

    def drop(self, ordinal: int) -> None:
        """Remove one item that will not be sent."""
        self._ahead = deque(row for row in self._ahead if row[0] != ordinal)

    def _look(self) -> list[tuple[int, int]]:
        """Read the sizes of the next queued items.

        If there are few, queue more planned items for the next call.
        """
        rows = ReplayItem.objects.filter(replay=self._replay, state=ItemState.QUEUED, ordinal__gt=self._seen)
        found = rows.order_by("ordinal").values_list("ordinal", "dead_letter__value_size", Length("payload__value"))
        seen = [(ordinal, max(original or 0, edited or 0)) for ordinal, original, edited in found[:AHEAD]]
        self._ahead += seen
        self._seen = seen[-1][0] if seen else self._seen
        self._is_last = len(seen) < AHEAD and not self._take()
        return seen
