"""The figures of a plan, collected slice by slice with a few bytes per record."""

from __future__ import annotations

import hashlib
from array import array
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from enum import IntFlag

import msgspec
from django.utils.crypto import salted_hmac

from dlqadmin.replays.items.messages import MappedHeaders
from dlqadmin.replays.plans.item_choice import Candidate, Decided
from dlqadmin.replays.plans.options import Options, digest_of
from dlqadmin.replays.plans.targets import Targets


class Mark(IntFlag):
    """Properties of a record that is sent."""

    SENT = 1
    TOMBSTONE = 2
    AGAIN = 4
    NEWER = 8
    NOT_JSON = 16
    OLD = 32
    TIMELESS = 64
    UNEDITED = 128


class PlanTally:
    """The figures of the records so far. A record that is skipped later loses its marks."""

    def __init__(self, options: Options, targets: Targets, now: datetime) -> None:
        self.largest: dict[str, int] = {}
        self.stripped: set[str] = set()
        self.held = Counter[str]()  # evidence that names the holder → number of records left out
        self.holders: set[int] = set()  # the replays that hold them
        self.through = Counter[str]()  # stages of a source → number of records that passed them
        self.newer = 0  # of all records, sent or left out
        self.authors: set[int] = set()  # people who edited records that are sent
        self.unedited_failed_at: datetime | None = None  # the latest failure of a record that is sent as it was
        self._marks = bytearray()
        self._ids = array("q")
        self._options = options
        self._digest = hashlib.sha256()
        self._kept_since = {
            name: now - timedelta(milliseconds=target.retention_ms)
            for name, target in targets.by_name.items()
            if target.retention_ms is not None and options.keep_timestamps
        }

    @property
    def total(self) -> int:
        """The number of records so far."""
        return len(self._marks)

    @property
    def digest(self) -> str:
        """The SHA-256 digest of the decisions and the options."""
        return digest_of(self._options, self.records_digest)

    @property
    def records_digest(self) -> str:
        """The SHA-256 digest of the decisions: targets, reasons for skipped records, and headers of mappings."""
        return self._digest.hexdigest()

    @property
    def ids(self) -> Sequence[int]:
        """The ids of the dead letters in ascending order."""
        return sorted(self._ids)

    def count(self, mark: Mark) -> int:
        """Return how many of the records to send have the mark."""
        found = Counter(self._marks)
        return sum(n for marks, n in found.items() if marks & mark)

    def sent_of(self, ordinals: Iterable[int]) -> int:
        """Return how many of these records are sent."""
        return sum(1 for ordinal in ordinals if self._marks[ordinal])

    def add(self, found: Sequence[Decided], not_json: Collection[int], holders: Mapping[str, int]) -> None:
        """Add the next records, in order. `holders` maps evidence texts to the replays they name."""
        for row in found:
            one = row.candidate
            self._ids.append(one.dead_letter)
            # A second person approves these parts of the decision.
            named = (one.dead_letter, one.lineage, one.target, _content(one), row.partition, row.reason)
            self._digest.update(msgspec.msgpack.encode(named))
            self.newer += row.newer
            if row.reason == "already_sent":
                self.held[row.evidence] += 1
            if row.reason:
                # Skipped records get an entry too, so that ordinals are indexes.
                self._marks.append(0)
                continue
            self._marks.append(self._marked(row) | (Mark.NOT_JSON if one.dead_letter in not_json else 0))
            self.largest[one.target] = max(self.largest.get(one.target, 0), one.size or 0)
            self.stripped.update(one.stripped)
            self.authors |= one.authors
            if one.through:
                self.through[one.through] += 1
        self.holders |= {replay for said, replay in holders.items() if said in self.held}

    def leave_out(self, ordinal: int, reason: str) -> None:
        """Change a record from sent to skipped."""
        self._marks[ordinal] = 0
        self._digest.update(msgspec.msgpack.encode((ordinal, reason)))

    def leave_off(self, mapped: MappedHeaders) -> None:
        """Add the headers that messages leave off because a mapping reads them."""
        # Without mappings the digest stays that of earlier versions, and so does its approval.
        if mapped:
            self._digest.update(msgspec.msgpack.encode(sorted((name, sorted(read)) for name, read in mapped.items())))

    def _marked(self, row: Decided) -> int:
        one, marks = row.candidate, int(Mark.SENT)
        if one.tombstone:
            marks |= Mark.TOMBSTONE
        if row.again:
            marks |= Mark.AGAIN
        if row.newer:
            marks |= Mark.NEWER
        if one.edited is None and one.failed_at is not None and one.target == one.origin_topic:
            marks |= Mark.UNEDITED
            self.unedited_failed_at = max(self.unedited_failed_at or one.failed_at, one.failed_at)
        if self._options.keep_timestamps:
            since = self._kept_since.get(one.target)
            if one.timestamp is None:
                marks |= Mark.TIMELESS
            elif since is not None and one.timestamp < since:
                marks |= Mark.OLD
        return marks


def _content(one: Candidate) -> str:
    """Return the digest of an edited message, keyed if a masking rule is for it.

    Everybody sees the digest of the plan. Without the key, a guess of a masked value could be confirmed with it.
    """
    return salted_hmac("dlqadmin.plan", one.digest, algorithm="sha256").hexdigest() if one.ruled else one.digest
