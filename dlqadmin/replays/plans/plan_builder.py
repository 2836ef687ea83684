"""The builder of a plan.

It reads a selection in slices, queries Kafka, decides on each record, and writes the items.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

import msgspec
from django.db.models import F, Q

from dlqadmin.deadletters.index.origin_topics import refusal_by_name
from dlqadmin.replays.models import ItemState, OrderGuard, Replay, ReplayItem
from dlqadmin.replays.plans import (
    approval_rules,
    connector_changes,
    item_writer,
    newer_records,
    selection_reader,
    targets,
)
from dlqadmin.replays.plans.documents import PlanDocument, plan_document
from dlqadmin.replays.plans.item_choice import Decided, decide
from dlqadmin.replays.plans.kafka_queries import SourceClusterQueries
from dlqadmin.replays.plans.newer_records import Behind, SearchLimits
from dlqadmin.replays.plans.null_checks import NullSearch
from dlqadmin.replays.plans.options import Options
from dlqadmin.replays.plans.plan_inputs import Facts
from dlqadmin.replays.plans.selection_reader import Reading
from dlqadmin.replays.plans.tally import PlanTally
from dlqadmin.replays.plans.targets import Targets
from dlqadmin.replays.plans.value_checks import Looked
from dlqadmin.replays.rehearsals import corrected_source_records
from dlqadmin.replays.selections import frozen_selections

FAR = SearchLimits(records=200_000, seconds=20.0)  # for a plan that is made in the background


class PlanSlice(msgspec.Struct, frozen=True):
    """Decisions on consecutive records.

    `not_json` are the ids of records whose value is not JSON. `holders` are the replays that may hold some of the
    records.
    """

    rows: Sequence[Decided]
    not_json: set[int]
    holders: Mapping[str, int]


class Work:
    """A plan in progress: the facts from Kafka and the figures so far.

    It writes items to the database and nothing else.
    """

    def __init__(
        self, replay: Replay, options: Options, now: datetime, cluster: SourceClusterQueries, limits: SearchLimits
    ) -> None:
        self._began = time.perf_counter()
        self._replay, self._options, self._now = replay, options, now
        self._target = options.target_topic or (f"dlqadmin-shadow-{replay.uuid.hex}" if options.shadow else "")
        first, self._named = selection_reader.origins(replay.selection)
        author = replay.created_by if options.use_fixes else None
        names = [self._target] if self._target else [topic for topic, _ in first]
        names += (
            [] if self._target else corrected_source_records.topics(author, frozen_selections.rows(replay.selection))
        )
        self.targets: Targets = targets.look(names, options, cluster)
        self._behind = Behind()
        if options.home and not self.targets.kafka:
            readable = self._readable()
            there = {
                (topic, partition): offset
                for (topic, partition), offset in first.items()
                if topic in readable and partition is not None and offset is not None
            }
            refused = sorted(topic for topic, _ in first if topic and topic not in readable)
            self._behind = msgspec.structs.replace(newer_records.look(there, cluster, limits), refused=tuple(refused))
        self.tally = PlanTally(options, self.targets, now)
        self._values = Looked()
        self._nulls = NullSearch()
        self._reading = Reading(
            replay.selection, self._target, author, timed=options.keep_timestamps, cluster=options.target_cluster
        )

    @property
    def mapped_headers(self) -> dict[str, list[str]]:
        """The headers that the mappings of the records read so far take off, by mapping."""
        return self._reading.mapped_headers

    def _readable(self) -> set[str]:
        """Return the origin topics that may be read for newer records.

        A topic must be allowed for every dead letter topic of the selection that names it. Topics that replays may not
        write to are left out, because their records are skipped anyway.
        """
        refused = {origin for topic, origin in self._named if refusal_by_name(topic, origin)}
        refused |= {name for name, target in self.targets.by_name.items() if target.forbidden}
        return {origin for _, origin in self._named if origin} - refused

    def slices(self) -> Iterator[PlanSlice]:
        """Yield the decisions on all records, in slices. Reads the database only."""
        for letters in self._reading.slices():
            found = self._reading.candidates(letters)
            known = self._reading.known_of(found)
            rows = [decide(one, self._options, self.targets, self._behind, known) for one in found]
            self._nulls.look(rows, self.targets)
            yield PlanSlice(rows, self._values.not_json(rows, self.targets), known.holders)

    def write(self, part: PlanSlice) -> None:
        """Insert the items of a slice, in the caller's transaction."""
        item_writer.write(self._replay, self.tally.total, part.rows, self.targets, self._now)
        self.tally.add(part.rows, part.not_json, part.holders)

    def finish(self) -> PlanDocument:
        """Apply the rules that need all items, and return the plan. In the caller's transaction."""
        self.tally.leave_off(self.mapped_headers)
        item_writer.one_of_each(self._replay, self.tally)
        if self._options.order == OrderGuard.LAST:
            item_writer.last_of_each_key(self._replay, self.tally)
        cells = item_writer.cells(self._replay)
        to_send = sum(n for *_, reason, n in cells if not reason)
        elsewhere = self._elsewhere(to_send)
        people = [self._replay.created_by]
        return plan_document(
            Facts(
                selection=self._replay.selection,
                drifted=frozen_selections.drifted(self._replay.selection, self.tally.ids),
                options=self._options,
                targets=self.targets,
                behind=self._behind,
                cells=cells,
                tally=self.tally,
                values=self._values,
                nulls=self._nulls,
                took_ms=round((time.perf_counter() - self._began) * 1000),
                now=self._now,
                approval=approval_rules.needed(to_send, elsewhere, people, self._now, self._replay.pk),
                elsewhere=elsewhere,
                change=connector_changes.latest_since(
                    {watched for _, _, watched, _, reason, _ in cells if watched and not reason},
                    self.tally.unedited_failed_at,
                ),
            )
        )

    def _elsewhere(self, to_send: int) -> int:
        """Return how many records would go to another topic or cluster than their origin.

        An origin that may not be read for its dead letter topic counts too: the dead letter may have forged it.
        """
        if self._options.is_abroad or self._options.shadow:
            return to_send
        forged: dict[str, set[str]] = {}
        for topic, origin in self._named:
            if origin and refusal_by_name(topic, origin):
                forged.setdefault(topic, set()).add(origin)
        # Only the record of a source connector has no origin.
        if self._options.home and not self.tally.through and not forged:
            return 0
        away = ~Q(target_topic=F("dead_letter__origin_topic"))
        for topic, origins in forged.items():
            away |= Q(dead_letter__topic=topic, dead_letter__origin_topic__in=origins)
        return ReplayItem.objects.filter(away, replay=self._replay, state=ItemState.PLANNED).count()
