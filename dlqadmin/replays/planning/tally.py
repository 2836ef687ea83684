"""The figures of a plan, gathered slice by slice: a few bytes a record, however many there are."""

from __future__ import annotations

import hashlib
from array import array
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from enum import IntFlag

import msgspec

from dlqadmin.replays.planning.choosing import Decided
from dlqadmin.replays.planning.options import Options
from dlqadmin.replays.planning.targets import Targets


class Mark(IntFlag):
    """What there is to say of a record that is sent."""

    SENT = 1
    TOMBSTONE = 2
    AGAIN = 4
    NEWER = 8
    NOT_JSON = 16
    OLD = 32
    TIMELESS = 64


class Tally:
    """What was seen so far. A record that turns out not to be sent loses its marks again."""

    def __init__(self, options: Options, targets: Targets, now: datetime) -> None:
        self.largest: dict[str, int] = {}
        self.stripped: set[str] = set()
        self.held = Counter[str]()  # by whom records were sent before → how many are left out
        self.holders: set[int] = set()  # the replays that hold them
        self.through = Counter[str]()  # which stages of a source → how many records came through them
        self.newer = 0  # of all, sent or left out
        self._marks = bytearray()
        self._ids = array("q")
        self._options = options
        self._digest = hashlib.sha256(msgspec.msgpack.encode(options.promised))
        self._kept_since = {
            name: now - timedelta(milliseconds=target.retention_ms)
            for name, target in targets.by_name.items()
            if target.retention_ms is not None and options.keep_timestamps
        }

    @property
    def total(self) -> int:
        """Records so far."""
        return len(self._marks)

    @property
    def digest(self) -> str:
        """SHA-256 over what would be sent where, what not, and how."""
        return self._digest.hexdigest()

    @property
    def ids(self) -> Sequence[int]:
        """The dead letters in ascending order."""
        return sorted(self._ids)

    def count(self, mark: Mark) -> int:
        """How many of the records that are sent bear the mark."""
        found = Counter(self._marks)
        return sum(n for marks, n in found.items() if marks & mark)

    def add(self, found: Sequence[Decided], not_json: Collection[int], holders: Mapping[str, int]) -> None:
        """The next records, in order; and the replays that may hold some of them, by what is said of each then."""
        for row in found:
            one = row.candidate
            self._ids.append(one.dead_letter)
            named = (one.dead_letter, one.lineage, one.target, one.digest, row.partition, row.reason)
            self._digest.update(msgspec.msgpack.encode(named))
            self.newer += row.newer
            if row.reason == "already_sent":
                self.held[row.evidence] += 1
            if row.reason:
                self._marks.append(0)
                continue
            self._marks.append(self._marked(row) | (Mark.NOT_JSON if one.dead_letter in not_json else 0))
            self.largest[one.target] = max(self.largest.get(one.target, 0), one.size or 0)
            self.stripped.update(one.stripped)
            if one.through:
                self.through[one.through] += 1
        self.holders |= {replay for said, replay in holders.items() if said in self.held}

    def leave_out(self, ordinal: int, reason: str) -> None:
        """A record that was to be sent is not, after all."""
        self._marks[ordinal] = 0
        self._digest.update(msgspec.msgpack.encode((ordinal, reason)))

    def _marked(self, row: Decided) -> int:
        one, marks = row.candidate, int(Mark.SENT)
        if one.tombstone:
            marks |= Mark.TOMBSTONE
        if row.again:
            marks |= Mark.AGAIN
        if row.newer:
            marks |= Mark.NEWER
        if self._options.keep_timestamps:
            since = self._kept_since.get(one.target)
            if one.timestamp is None:
                marks |= Mark.TIMELESS
            elif since is not None and one.timestamp < since:
                marks |= Mark.OLD
        return marks
