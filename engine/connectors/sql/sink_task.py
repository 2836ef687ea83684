"""Open the task of a SqlSink from its plan, exactly once if configured."""

from __future__ import annotations

from engine.connectors.sql.engine_tables import TaskRows, make_tables
from engine.connectors.sql.offsets import SqlOffsets
from engine.exactly_once.buffered import BufferedProducer
from engine.pipeline.claim import claim_positions
from engine.pipeline.commit import flush_letters
from engine.pipeline.database_commit import DatabaseCommit, Outbox, Relay
from engine.pipeline.database_positions import DatabaseStore
from engine.pipeline.opened_task import OpenTask
from engine.ports import Producer
from engine.tasks.clients import TaskOpening, flush_outcomes, open_consumer, open_replay_reporter, open_transaction
from engine.tasks.dead_letters import open_dead_letters
from engine.tasks.sink import ClaimedSink, open_sink, sink_task, start_sink
from engine.worker_messages import Delivery


def open_sql_sink(opening: TaskOpening) -> OpenTask:
    """Claim the task's partitions, first in Kafka and then in the database, and open its sink."""
    plan, task = opening.plan, opening.task
    if plan.delivery is not Delivery.EXACTLY_ONCE:
        return open_sink(opening)
    consumer = open_consumer(opening)
    sink = start_sink(opening)
    make_tables(sink.engine)
    database = SqlOffsets(sink.engine, TaskRows(opening.worker.group_id, task.connector, task.partitions))
    opening.closing.callback(database.close)
    # Before the table is claimed: nobody else can then move the group's offsets between the two.
    transaction = open_transaction(opening, database.check)
    store = DatabaseStore(task, database, consumer)
    positions, state = claim_positions(task, plan.guarded_stages, consumer, store)
    outbox = Outbox()
    letters = open_dead_letters(opening, state, outbox)
    elsewhere: Producer | None = None
    if letters is not None and not isinstance(letters.producer, BufferedProducer):
        # Also letters for another cluster wait in the database, so that each belongs to a committed position.
        elsewhere, letters.producer = letters.producer, outbox
    replayed = open_replay_reporter(opening, outbox)
    commit = DatabaseCommit(
        store,
        outbox,
        Relay(transaction, f"connect-{task.connector}", elsewhere, plan.config.errors.dlq_topic),
        lambda: flush_letters(letters, state),
        lambda: flush_outcomes(replayed),
        opening.clock,
        opening.worker.flush_interval_ms,
    )
    commit.begin()
    opening.closing.callback(commit.finish)
    # From here on a put only opens the transaction. The commit writes the positions into it.
    sink.writing = database.writing
    return sink_task(opening, ClaimedSink(consumer, positions, state, letters, replayed), sink, commit)
