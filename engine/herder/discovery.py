"""Tasks that are found by looking at another cluster (KIP-656): each such connector is watched in a thread of its own.

A turn of the herder never waits for it: it takes what was found last, and hands over the tasks as they are. What a
watch raises is its connector's trouble; the last assignment stays.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Protocol

from engine.errors import EngineError, RetriableError
from engine.record.trace import describe

log = logging.getLogger(__name__)

Properties = Mapping[str, str]
TROUBLE_PAUSE_S = 5.0
CLOSE_TIMEOUT_S = 2.0


class Watch(Protocol):
    """Looks at clusters; only ever from one thread."""

    @property
    def pause_s(self) -> float:
        """How long to wait for the next look."""
        ...

    def look(self, current: Sequence[Properties]) -> Sequence[dict[str, str]]:
        """What each task adds to the connector's properties, where `current` are the tasks' properties as they are.

        May take long, and may raise anything.
        """
        ...

    def close(self) -> None: ...


class Discovery:
    """The watches of all connectors that have one. Every method returns at once."""

    def __init__(self) -> None:
        self._watched: dict[str, _Watched] = {}

    def tasks(
        self, name: str, properties: Properties, make: Callable[[], Watch], current: Sequence[Properties]
    ) -> Sequence[dict[str, str]] | None:
        """What was found last; None while nothing is known yet. Watches the connector from now on.

        Raises RetriableError while looking fails.
        """
        watched = self._watched.get(name)
        if watched is None or watched.properties != properties:
            if watched is not None:
                watched.stop()
            watched = self._watched[name] = _Watched(name, dict(properties), make)
        watched.current = tuple(current)
        if watched.trouble is not None:
            raise RetriableError(watched.trouble)
        return watched.found

    def keep(self, names: Collection[str]) -> None:
        """Watch no others any longer."""
        for name in [name for name in self._watched if name not in names]:
            self._watched.pop(name).stop()

    def close(self) -> None:
        """Watch nothing; what is under way is waited for a moment."""
        watched, self._watched = list(self._watched.values()), {}
        for one in watched:
            one.stop()
        for one in watched:
            one.thread.join(CLOSE_TIMEOUT_S)


class _Watched:
    """One connector; `found` and `trouble` are written by its thread, `current` by the herder's."""

    def __init__(self, name: str, properties: Properties, make: Callable[[], Watch]) -> None:
        self.properties = properties
        self.current: Sequence[Properties] = ()
        self.found: Sequence[dict[str, str]] | None = None
        self.trouble: str | None = None
        self._make = make
        self._stopping = threading.Event()
        self.thread = threading.Thread(target=self._run, name=f"watch-{name}", daemon=True)
        self.thread.start()

    def stop(self) -> None:
        self._stopping.set()

    def _run(self) -> None:
        watch: Watch | None = None
        pause_s = 0.0
        while not self._stopping.wait(pause_s):
            try:
                watch = watch or self._make()
                found = watch.look(self.current)
            except Exception as error:  # noqa: BLE001, it is the connector's trouble, whatever it is
                self.trouble = str(error) if isinstance(error, EngineError) else describe(error).text
                pause_s = TROUBLE_PAUSE_S
                continue
            self.found, self.trouble, pause_s = found, None, watch.pause_s
        if watch is not None:
            watch.close()
