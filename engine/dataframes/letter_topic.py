"""The dead letter topic of a query: one transaction for each micro-batch, which also stores the query's memory.

The transaction commits `batch + 1` as the offset of a stand-in group. A repeated micro-batch finds this offset, and
writes nothing. A query that starts takes over the transactional id, so an older one with the same name is fenced.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from contextlib import suppress
from itertools import islice
from typing import NamedTuple

import msgspec

from engine.dataframes.options import QueueOptions
from engine.errors import AbortableError, EngineError, GenerationFenced, ProduceFailed, RetriableError, TaskError
from engine.kafka.admin import KafkaAdmin
from engine.kafka.client_options import admin_settings, transactional_settings
from engine.kafka.clock import WorkerClock
from engine.kafka.consumer import retry_while_retriable
from engine.kafka.transactional import KafkaTransactional
from engine.ports import Committed, Row
from engine.record.record import TopicPartition
from engine.reporting.replay_outcomes import OUTCOME_TOPIC_CONFIG
from engine.tasks.clients import WRITING, base, producing
from engine.tasks.dead_letters import DEFAULT_MAX_MESSAGE_BYTES

ATTEMPTS = 5
PAUSE_MS = 1_000
SLICE_RECORDS = 1_000  # given to the client at a time
log = logging.getLogger(__name__)


class QueryMemory(NamedTuple):
    """A query's memory as a transaction stored it: next micro-batch, digest of the last errors, and counters."""

    next_batch: int = 0
    digest: int = 0
    state: str = ""


class _Stored(msgspec.Struct):
    """The metadata of the commit. `query` is Spark's id of the query, which its checkpoint keeps."""

    query: str
    digest: int
    state: msgspec.Raw


class LetterTopic:
    """A transactional writer of letters and outcome reports, for one query at a time."""

    def __init__(self, options: QueueOptions) -> None:
        worker, errors = options.worker, options.errors
        self.topic = errors.dlq_topic
        self.group = self._transactional_id = f"dlq-{options.name}"
        self._options = options
        self._settings = transactional_settings(
            self._transactional_id, WRITING, *producing(worker, errors.dlq_producer)
        )
        # The error says that the brokers do not respond. The client would say so on the console twenty times a second.
        self._admin = KafkaAdmin({"log_level": "2", **admin_settings(base(worker), worker.admin)})
        self._client: KafkaTransactional | None = None
        self._has_outcome_topic = False
        self._query = ""
        self._known = QueryMemory()  # as last read or written

    def open(self) -> int:
        """Create the topic if needed, and take over the transactional id; return the largest letter in bytes.

        Raises RetriableError if the brokers do not respond.
        """
        errors, servers = self._options.errors, self._options.worker.bootstrap_servers
        reason = ""
        try:
            self._admin.create_topic(self.topic, errors.dlq_partitions, errors.dlq_replication_factor)
        except RetriableError as error:
            reason = str(error)
        if reason:  # not in the handler: the first traceback refers to the client, and a shell keeps the last error
            text = f"dead letter topic {self.topic}: the brokers at {servers} do not respond: {reason}"
            raise RetriableError(text)
        topic_bytes = self._admin.max_message_bytes(self.topic) or DEFAULT_MAX_MESSAGE_BYTES
        self._settings.setdefault("message.max.bytes", str(topic_bytes))
        self._connect()
        return min(topic_bytes, int(self._settings["message.max.bytes"]))

    def read_memory(self, query: str) -> QueryMemory:
        """Return the memory of the query with this id. Without a commit of this query, it is empty."""
        self._query, self._known = query, self._read(query)
        return self._known

    def _read(self, query: str) -> QueryMemory:
        place = TopicPartition(self.topic, 0)
        # The coordinator of a new group is unknown for a moment.
        committed = retry_while_retriable(lambda: self._admin.committed(self.group, [place]))[place]
        if committed is None:
            return QueryMemory()
        try:
            stored = msgspec.json.decode(committed.metadata, type=_Stored)
        except msgspec.DecodeError:
            return QueryMemory()
        if stored.query != query:  # another checkpoint: its batches are counted anew
            return QueryMemory()
        return QueryMemory(committed.offset, stored.digest, bytes(stored.state).decode())

    def write(self, rows: Callable[[], Iterable[Row]], memory: QueryMemory) -> None:
        """Write these records and the memory in one transaction. `rows` may be called again.

        Raises GenerationFenced if another query has taken over the id, RetriableError if the brokers stay away, and
        TaskError if they reject a record.
        """
        for left in reversed(range(ATTEMPTS)):
            try:
                # After a lost answer, the commit may have succeeded.
                if self._client is not None or not self._is_stored(memory):
                    self._write_once(rows, memory)
                break
            except (AbortableError, RetriableError) as error:
                self._drop()
                if not left:
                    raise RetriableError(
                        f"dead letter topic {self.topic}: letters were not written: {error}"
                    ) from error
                log.warning("letters for %s are written again: %s", self.topic, error)
                WorkerClock().wait(PAUSE_MS)
            except GenerationFenced as error:
                self._drop()
                text = f"another query has taken over the name {self._options.name}; give each DeadLetterQueue its own"
                raise GenerationFenced(text) from error
            except BaseException:
                self._drop()
                raise

    def create_outcome_topic(self) -> str:
        """Create the topic of outcomes if needed; return its name."""
        worker = self._options.worker
        if not self._has_outcome_topic:
            self._admin.create_topic(
                worker.outcome_topic, worker.outcome_partitions, worker.outcome_replication_factor, OUTCOME_TOPIC_CONFIG
            )
            self._has_outcome_topic = True
        return worker.outcome_topic

    def close(self) -> None:
        self._drop()
        self._admin.close()

    def _is_stored(self, memory: QueryMemory) -> bool:
        """Take the id over again. Raises GenerationFenced if another query has stored its memory meanwhile."""
        known = self._known
        self._connect()
        stored = self.read_memory(self._query)
        if stored not in {memory, known}:
            raise GenerationFenced("its memory has changed")
        return stored == memory

    def _write_once(self, rows: Callable[[], Iterable[Row]], memory: QueryMemory) -> None:
        client = self._client
        if client is None:
            raise RetriableError("the transactional producer is closed")
        todo = iter(rows())
        part = list(islice(todo, SLICE_RECORDS))  # Spark works before the transaction begins
        client.begin()
        while part:
            client.produce_all(part)
            try:
                client.flush()
            except ProduceFailed as error:
                if error.retriable:
                    raise RetriableError(str(error)) from error
                raise TaskError(f"the brokers reject a dead letter: {error}") from error
            part = list(islice(todo, SLICE_RECORDS))
        stored = _Stored(self._query, memory.digest, msgspec.Raw(memory.state.encode()))
        committed = Committed(memory.next_batch, msgspec.json.encode(stored).decode())
        client.send_offsets({TopicPartition(self.topic, 0): committed}, self.group)
        client.commit()
        self._known = memory

    def _connect(self) -> None:
        client = KafkaTransactional(self._settings)
        try:
            client.init()
        except BaseException:
            with suppress(EngineError):
                client.close()
            raise
        self._client = client

    def _drop(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            with suppress(EngineError):
                client.abort()
            with suppress(EngineError):
                client.close()
