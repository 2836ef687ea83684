"""Goes through a selection: looks at Kafka, decides slice by slice, writes items, and makes the plan of it all."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec
from django.conf import settings

from dlqadmin.replays.models import OrderGuard, Replay
from dlqadmin.replays.planning import ordering, reading, selecting, targets, writing
from dlqadmin.replays.planning.choosing import Decided, decide
from dlqadmin.replays.planning.document import document
from dlqadmin.replays.planning.facts import Facts
from dlqadmin.replays.planning.kafka import Cluster
from dlqadmin.replays.planning.options import Options
from dlqadmin.replays.planning.ordering import Behind, Limits
from dlqadmin.replays.planning.reading import Reading
from dlqadmin.replays.planning.tally import Tally
from dlqadmin.replays.planning.targets import Targets
from dlqadmin.replays.planning.values import Looked
from dlqadmin.replays.rehearsing import sources

FAR = Limits(records=200_000, seconds=20.0)  # for a plan that nobody waits for at the screen


class Slice(msgspec.Struct, frozen=True):
    """So many records in a row: what becomes of each, whose value is no JSON, and who may hold some of them."""

    rows: Sequence[Decided]
    not_json: set[int]
    holders: Mapping[str, int]


class Work:
    """One plan in the making: what was seen of Kafka, and the figures so far. Nothing is written but items."""

    def __init__(self, replay: Replay, options: Options, now: datetime, cluster: Cluster, limits: Limits) -> None:
        self._began = time.perf_counter()
        self._replay, self._options, self._now = replay, options, now
        self._target = options.target_topic or (f"dlqadmin-shadow-{replay.uuid.hex}" if options.shadow else "")
        first = reading.origins(replay.selection)
        author = replay.created_by if options.use_fixes else None
        names = [self._target] if self._target else [topic for topic, _ in first]
        names += [] if self._target else sources.topics(author, selecting.rows(replay.selection))
        self.targets: Targets = targets.look(names, options, cluster)
        self._behind = Behind()
        if options.home and not self.targets.kafka:
            there = {
                (topic, partition): offset
                for (topic, partition), offset in first.items()
                if topic and partition is not None and offset is not None
            }
            self._behind = ordering.look(there, cluster, limits)
        self.tally = Tally(options, self.targets, now)
        self._values = Looked()

    def slices(self) -> Iterator[Slice]:
        """What becomes of the records; reads the database only."""
        author = self._replay.created_by if self._options.use_fixes else None
        timed = self._options.keep_timestamps
        cluster = self._options.target_cluster
        there = Reading(self._replay.selection, self._target, author, timed=timed, cluster=cluster)
        for letters in there.slices():
            found = there.candidates(letters)
            known = there.known_of(found)
            rows = [decide(one, self._options, self.targets, self._behind, known) for one in found]
            yield Slice(rows, self._values.not_json(rows, self.targets), known.holders)

    def write(self, part: Slice) -> None:
        """The items of a slice, in the caller's transaction."""
        writing.write(self._replay, self.tally.total, part.rows, self.targets, self._now)
        self.tally.add(part.rows, part.not_json, part.holders)

    def finish(self) -> dict[str, Any]:
        """Settle what only all items together tell; the plan. In the caller's transaction."""
        writing.one_of_each(self._replay, self.tally)
        if self._options.order == OrderGuard.LAST:
            writing.last_of_each_key(self._replay, self.tally)
        return document(
            Facts(
                selection=self._replay.selection,
                drifted=selecting.drifted(self._replay.selection, self.tally.ids),
                options=self._options,
                targets=self.targets,
                behind=self._behind,
                cells=writing.cells(self._replay),
                tally=self.tally,
                values=self._values,
                took_ms=round((time.perf_counter() - self._began) * 1000),
                now=self._now,
                approval_above=settings.APPROVAL_ABOVE,
            )
        )
