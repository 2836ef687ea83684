"""Fencing before the tasks of a new generation run (KIP-618): background rounds and their records.

A turn of the herder never waits for a round. A failed round is retried for ever and shown as its connector's problem.
The other connectors go on. No task of the connector starts before the record is written.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor

from engine.errors import EngineError, RetriableError
from engine.herder.config_topic import Connectors
from engine.herder.connector_problems import ConnectorProblems
from engine.herder.fencing_rounds import FencingRound, has_old_work_ended, needed_rounds
from engine.herder.state import HerderSettings, HerderState
from engine.ports import Fence
from engine.record.trace import describe

log = logging.getLogger(__name__)

MOST_ROUNDS = 8  # run at the same time; each may hold eight connections
PROBLEM_PART = "fencing of older tasks"


class FencingRunner:
    """The runner of fencing rounds, on its own threads. Only the herder calls `turn`.

    Failed rounds are retried for ever, with a growing back-off.
    """

    def __init__(
        self, fence: Fence, connectors: Connectors, settings: HerderSettings, problems: ConnectorProblems
    ) -> None:
        self._fence = fence
        self._connectors = connectors
        self._settings = settings
        self._problems = problems
        self._threads = ThreadPoolExecutor(MOST_ROUNDS, thread_name_prefix="fencing")
        self._running: dict[str, tuple[FencingRound, Future[None]]] = {}
        self._failed: dict[
            str, tuple[FencingRound, int, int]
        ] = {}  # round, failures in a row, time of the next attempt (ms)
        self.done: Callable[[], None] = lambda: None  # called from any thread when a round has ended

    def turn(self, state: HerderState, now: int) -> None:
        """Write the records of ended rounds, and start the rounds that are needed.

        A round counts only for the generation it was started for. A newer generation needs its own round.
        """
        rounds = needed_rounds(self._connectors.state)
        for name in [name for name in self._failed if name not in rounds]:
            del self._failed[name]
        for name, (round_, ended) in list(self._running.items()):
            if ended.done():
                del self._running[name]
                self._end(round_, ended, rounds.get(name), now)
        # Asked again, because a record that `_end` wrote is folded by now.
        for name, round_ in needed_rounds(self._connectors.state).items():
            if name in self._running or self._is_delayed(round_, now):
                continue
            if has_old_work_ended(state, round_, now, self._settings):
                self._begin(round_)

    def has_failed(self, connector: str) -> bool:
        """Return whether the connector's last ended round failed."""
        return connector in self._failed

    def retry_now(self, connector: str) -> None:
        """Retry the connector's round now, because somebody waits for it."""
        self._failed.pop(connector, None)

    def forget(self) -> None:
        """Forget all rounds. The next leader starts its own; the results of running ones are ignored."""
        self._running.clear()
        self._failed.clear()

    def close(self) -> None:
        # A running round may wait for brokers that do not respond. The driver does not wait for it.
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _begin(self, round_: FencingRound) -> None:
        if not round_.tasks:
            self._write(round_)
            return
        properties: Mapping[str, str] = self._connectors.get(round_.connector).properties or {}
        log.info("connector %s: fencing %d tasks", round_.connector, len(round_.tasks))
        ended = self._threads.submit(self._fence, properties, round_.tasks)
        self._running[round_.connector] = (round_, ended)
        # Wakes the herder. Otherwise the connector would wait for the herder's next turn.
        ended.add_done_callback(lambda _: self.done())

    def _end(self, round_: FencingRound, ended: Future[None], still: FencingRound | None, now: int) -> None:
        error = ended.exception()
        if error is None:
            self._failed.pop(round_.connector, None)
            with self._problems.catching(round_.connector, PROBLEM_PART):
                pass  # a block without an error clears the connector's problem
            if still == round_:
                self._write(round_)
            return
        before, times, _ = self._failed.get(round_.connector, (round_, 0, 0))
        times = times + 1 if before == round_ else 1
        # The exponent has a limit, because a round that fails is retried for ever.
        delay = min(self._settings.fencing_delay_ms * 2 ** min(times - 1, 16), self._settings.fencing_delay_max_ms)
        self._failed[round_.connector] = (round_, times, now + delay)
        with self._problems.catching(round_.connector, PROBLEM_PART):
            text = str(error) if isinstance(error, EngineError) else describe(error, foreign=True).text
            raise RetriableError(
                f"failed; no task can start before it succeeds; next attempt in {delay / 1000:g} s: {text}"
            )

    def _is_delayed(self, round_: FencingRound, now: int) -> bool:
        failed, _, until = self._failed.get(round_.connector, (None, 0, 0))
        return failed == round_ and now < until

    def _write(self, round_: FencingRound) -> None:
        self._connectors.write_count(round_.connector, round_.count)
        log.info("connector %s: generation %d may run", round_.connector, round_.generation)
