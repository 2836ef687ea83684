"""Open the task of a sink whose target keeps offsets beside the records: each record once.

Dead letters and the group's offsets follow in one Kafka transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from engine.exactly_once.transaction import Transaction
from engine.pipeline.claim import claim_positions
from engine.pipeline.commit import TransactionalCommit, flush_letters, with_metadata
from engine.pipeline.opened_task import OpenTask
from engine.pipeline.outcome import Interrupted
from engine.ports import Sink
from engine.record.record import TopicPartition
from engine.tasks.clients import TaskOpening, flush_outcomes, open_consumer, open_group, open_replay_reporter
from engine.tasks.dead_letters import open_dead_letters
from engine.tasks.sink import ClaimedSink, sink_task, start_sink


class OffsetKeepingSink(Sink, Protocol):
    """A sink that writes the records of a commit, and where they end, to its target in one step."""

    @property
    def is_full(self) -> bool:
        """Return whether it is time to write."""
        ...

    def find_ends(self, positions: Mapping[TopicPartition, int], log_ends: Mapping[TopicPartition, int]) -> None:
        """Read where the target's records of each partition end. `positions` are those that the task begins at.

        `log_ends` are the partitions' end offsets.

        Raises OffsetsMissing if a partition has not reached that offset: it is another topic's.
        """
        ...

    def write(self, positions: Mapping[TopicPartition, int]) -> None:
        """Write what `put` collected: records before these positions.

        Raises RetriableError if another task has written these offsets, or the target is away. The task begins again
        then.
        """
        ...


def open_sink_with_offsets(opening: TaskOpening) -> OpenTask:
    """Claim the task's partitions, first in Kafka, then read where the target's records end."""
    consumer = open_consumer(opening)
    transaction, store = open_group(opening, consumer)
    positions, state = claim_positions(opening.task, opening.plan.guarded_stages, consumer, store)
    letters, replayed = open_dead_letters(opening, state, transaction), open_replay_reporter(opening, transaction)
    sink: OffsetKeepingSink = start_sink(opening)
    # After the claim. If an earlier task still writes the next offsets, this one can't, and begins again.
    sink.find_ends(positions, consumer.end_offsets(opening.task.partitions))
    commit = TargetCommit(
        sink,
        transaction,
        lambda: flush_letters(letters, state),
        lambda: flush_outcomes(replayed),
        f"connect-{opening.task.connector}",
    )
    claimed = ClaimedSink(consumer, positions, state, letters, replayed)
    interval_ms = opening.plan.config.own["rotate.interval.ms"]
    return sink_task(opening, claimed, sink, commit, commit_interval_ms=interval_ms)


class TargetCommit(TransactionalCommit):
    """Commits that write to the target before the transaction with dead letters, outcomes and offsets is committed.

    After a crash between the two, the records are read again. Those that the target has are left out, and the others
    get their dead letters.
    """

    def __init__(
        self,
        sink: OffsetKeepingSink,
        transaction: Transaction,
        flush_dead_letters: Callable[[], Interrupted | None],
        flush_outcomes: Callable[[], Interrupted | None],
        group: str,
    ) -> None:
        super().__init__(transaction, flush_dead_letters, flush_outcomes, group)
        self._sink = sink

    @property
    def is_full(self) -> bool:
        return self._sink.is_full or super().is_full

    def commit(self, positions: Mapping[TopicPartition, int], metadata: Callable[[], str]) -> Interrupted | None:
        interrupted = self.flush_dead_letters() or self.flush_outcomes()
        if interrupted is not None:
            self.transaction.abort()
            return interrupted
        self._sink.write(positions)
        self.transaction.commit(with_metadata(positions, metadata()), self.group)
        return None
