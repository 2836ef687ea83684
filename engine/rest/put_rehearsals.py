"""Rehearsals of puts in this driver, which can look up the secrets of its connectors.

Only the engine's own SqlSink runs here. Converters and transforms do not: their code may come from other packages, so
the client runs them and sends the records as the sink would get them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from engine.assembly.validation import plan_of_task
from engine.config.providers import ResolvedProperties
from engine.config.worker import WorkerConfig
from engine.connectors.sql.put_data import PUT_OPTION, read_data
from engine.errors import BadRequest, ConfigError, EngineError, RequestConflict, RetriableError
from engine.record.record import Record
from engine.record.stage import StageType
from engine.record.trace import DISCREET, describe
from engine.tasks.plan import ConnectorPlan

if TYPE_CHECKING:  # it loads SQLAlchemy, which takes as long as all the rest
    from engine.connectors.sql.put_rehearsal import PutTrial, PutTrials

RehearsePut = Callable[[Mapping[str, str], Sequence[Record], str | None], "PutTrials"]

MAX_RECORDS = 100
MAX_AT_ONCE = 4  # connectors; each rehearsal occupies a thread that other requests need


class PutRehearsals:
    """Rehearsals of puts: one at a time for each connector. Its methods may be called on any thread.

    `rehearse` replaces the SqlSink's own rehearsal.
    """

    def __init__(self, worker: WorkerConfig | None, rehearse: RehearsePut | None = None) -> None:
        self._worker = worker
        self._rehearse = rehearse or _rehearse
        self._lock = threading.Lock()
        self._running: set[str] = set()

    def run(self, name: str, properties: Mapping[str, str], body: Mapping[str, Any]) -> dict[str, Any]:
        """Rehearse a put and return its document.

        Raises BadRequest, ConfigError, RequestConflict if the connector does not allow it or rehearses already, and
        RetriableError if the database can't be used now.
        """
        if self._worker is None:
            raise BadRequest("this server has no worker configuration, so it rehearses no puts")
        records = _records(body)
        plan, found = plan_of_task({**properties, "name": name}, self._worker)
        if plan.known.opener != "sql":
            raise BadRequest(f"{plan.stages[-1].class_name} can't rehearse a put, only SqlSink can")
        if not plan.config.own[PUT_OPTION]:
            raise RequestConflict(f"{PUT_OPTION} is false in the configuration of {name}")
        with self._alone(name), _without_secrets(found):
            done = self._rehearse(plan.config.properties, records, self._worker.permissions.file_root)
        return _document(plan, found, done)

    @contextmanager
    def _alone(self, name: str) -> Iterator[None]:
        with self._lock:
            if name in self._running:
                raise RequestConflict(f"another put of {name} is being rehearsed; try again later")
            if len(self._running) >= MAX_AT_ONCE:
                raise RequestConflict(f"{MAX_AT_ONCE} puts are being rehearsed; try again later")
            self._running.add(name)
        try:
            yield
        finally:
            with self._lock:
                self._running.discard(name)


def _rehearse(config: Mapping[str, str], records: Sequence[Record], root: str | None) -> PutTrials:
    from engine.connectors.sql.put_rehearsal import rehearse_put

    return rehearse_put(config, records, root)


@contextmanager
def _without_secrets(found: ResolvedProperties) -> Iterator[None]:
    """Raise the block's errors as the engine's own, without values of config providers and of records."""
    try:
        yield
    except ConfigError as error:
        problems = map(found.without_values, error.problems)
        raise BadRequest("; ".join(f"{option}: {message}" for option, _, message in problems)) from None
    except RetriableError as error:
        raise RetriableError(found.hide(str(error))) from None
    except Exception as error:  # noqa: BLE001, a database driver may raise anything, and its text may hold values
        raise EngineError(found.hide(DISCREET.sentence(error))) from None


def _records(body: Mapping[str, Any]) -> list[Record]:
    """Parse the body `{"records": [{"key", "value"}, ...]}`. Raises BadRequest."""
    rows = body.get("records")
    if not isinstance(rows, list) or not 0 < len(rows) <= MAX_RECORDS:
        raise BadRequest(f'the body is {{"records": [{{"key": ..., "value": ...}}]}}, with 1 to {MAX_RECORDS} records')
    made = []
    for number, row in enumerate(rows):
        if not isinstance(row, dict) or not {"key", "value"} <= row.keys():
            raise BadRequest(f"record {number} needs a key and a value")
        try:
            made.append(Record("", None, None, read_data(row["key"]), read_data(row["value"])))
        except ValueError as error:
            raise BadRequest(f"record {number} can't be read: {error}") from error
    return made


def _document(plan: ConnectorPlan, found: ResolvedProperties, done: PutTrials) -> dict[str, Any]:
    return {
        "connector": plan.config.name,
        "stage": StageType.TASK_PUT,
        "class": plan.stages[-1].class_name,
        "table": done.table,
        "database": done.database,
        "took_ms": done.took_ms,
        "rows_before": done.rows_before,
        "rows_after": done.rows_after,
        "records": [_row(plan, found, trial) for trial in done.trials],
    }


def _row(plan: ConnectorPlan, found: ResolvedProperties, trial: PutTrial) -> dict[str, str]:
    """Return one record's result. The texts of its error tell as much as its dead letter would."""
    if trial.hindrance:
        return {"state": "not_rehearsable", "note": found.hide(trial.hindrance)}
    if trial.error is None:
        return {"state": "ok"}
    errors = plan.config.errors
    told = describe(trial.error, foreign=errors.foreign_messages).changed(found.hide)
    shown = told.content if errors.dlq_include_messages and told.content is not None else told
    row = {"state": "failed", "exception_class": told.exception_class, "message": shown.message}
    if (told.root_class, shown.root_message) != (told.exception_class, shown.message):
        row |= {"root_class": told.root_class, "root_message": shown.root_message}
    return row
