"""Task discovery on another cluster (KIP-656). Each such connector is watched by its own thread.

A turn of the herder never waits for a watch. It uses the last result and passes the current tasks to the watch. An
exception in a watch becomes a problem of its connector, and the last assignment stays.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Protocol

from engine.errors import EngineError, RetriableError
from engine.record.trace import describe
from engine.reporting.checkpoints import CheckpointMetrics

log = logging.getLogger(__name__)

Properties = Mapping[str, str]
TROUBLE_PAUSE_S = 5.0
CLOSE_TIMEOUT_S = 2.0


class ClusterWatch(Protocol):
    """A watch of other clusters. It is only used by one thread."""

    @property
    def pause_s(self) -> float:
        """Return the seconds to wait before the next look."""
        ...

    @property
    def checkpoints(self) -> CheckpointMetrics:
        """Return the latencies of the checkpoints that it has written."""
        ...

    def look(self, current: Sequence[Properties]) -> Sequence[dict[str, str]]:
        """Return the properties that each task adds to the connector's properties.

        `current` are the properties of the current tasks. The call may take long, and may raise any exception.
        """
        ...

    def close(self) -> None: ...


class Discovery:
    """The watches of all connectors that have one. Every method but `close` returns at once."""

    def __init__(self) -> None:
        self._watched: dict[str, _WatchedConnector] = {}

    def tasks(
        self, name: str, properties: Properties, make: Callable[[], ClusterWatch], current: Sequence[Properties]
    ) -> Sequence[dict[str, str]] | None:
        """Return the last result, or None while there is none. Start to watch the connector if needed.

        Raises RetriableError while the watch fails.
        """
        watched = self._watched.get(name)
        # A watch belongs to one configuration. The old one may still be in a call, and its result must not be used.
        if watched is None or watched.properties != properties:
            if watched is not None:
                watched.stop()
            watched = self._watched[name] = _WatchedConnector(name, dict(properties), make)
        watched.current = tuple(current)
        if watched.trouble is not None:
            raise RetriableError(watched.trouble)
        return watched.found

    def checkpoints(self) -> dict[str, CheckpointMetrics]:
        """Return the latencies of checkpoints of each watched connector."""
        return {name: one.checkpoints for name, one in self._watched.items() if one.checkpoints is not None}

    def retain(self, names: Collection[str]) -> None:
        """Stop the watches of all other connectors."""
        for name in [name for name in self._watched if name not in names]:
            self._watched.pop(name).stop()

    def close(self) -> None:
        """Stop all watches. Wait a moment for looks that are under way."""
        watched, self._watched = list(self._watched.values()), {}
        for one in watched:
            one.stop()
        for one in watched:
            one.thread.join(CLOSE_TIMEOUT_S)


class _WatchedConnector:
    """A watched connector.

    Its thread writes `found`, `trouble` and `checkpoints`. The herder's thread writes `current`.
    """

    def __init__(self, name: str, properties: Properties, make: Callable[[], ClusterWatch]) -> None:
        self.properties = properties
        self.current: Sequence[Properties] = ()
        self.found: Sequence[dict[str, str]] | None = None
        self.trouble: str | None = None
        self.checkpoints: CheckpointMetrics | None = None
        self._make = make
        self._stopping = threading.Event()
        # A daemon, because a look may hang, and must not keep the driver's process alive.
        self.thread = threading.Thread(target=self._run, name=f"watch-{name}", daemon=True)
        self.thread.start()

    def stop(self) -> None:
        self._stopping.set()

    def _run(self) -> None:
        watch: ClusterWatch | None = None
        pause_s = 0.0
        while not self._stopping.wait(pause_s):
            try:
                watch = watch or self._make()
                task_properties = watch.look(self.current)
            except Exception as error:  # noqa: BLE001, it is the connector's trouble, whatever it is
                self.trouble = str(error) if isinstance(error, EngineError) else describe(error, foreign=True).text
                pause_s = TROUBLE_PAUSE_S
                continue
            self.found, self.trouble, pause_s = task_properties, None, watch.pause_s
            self.checkpoints = watch.checkpoints
        if watch is not None:
            watch.close()
