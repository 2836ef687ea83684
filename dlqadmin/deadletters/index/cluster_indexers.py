"""Indexers of several Kafka clusters in one process, a thread for each."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence

from django.db import DatabaseError, close_old_connections, connections

from dlqadmin.broker import clusters
from dlqadmin.deadletters.index.consumer import follow

LOOK_S = 2.0  # between looks at the settings of clusters

log = logging.getLogger(__name__)


class _ClusterIndexer(threading.Thread):
    """The indexer of one cluster. A cluster that is away makes only its own thread wait."""

    def __init__(self, cluster: str, group: str, on_reading: Callable[[], object]) -> None:
        super().__init__(name=f"indexer of {cluster}", daemon=True)
        self.cluster = cluster
        self.stop = threading.Event()
        self.indexed = 0
        self.error: BaseException | None = None
        self._group, self._on_reading = group, on_reading

    def run(self) -> None:
        try:
            with clusters.on(self.cluster):
                self.indexed = follow(self.stop, self._group, on_reading=self._on_reading)
        except BaseException as error:  # noqa: BLE001, the main thread raises it
            self.error = error
        finally:
            connections.close_all()


def follow_clusters(
    stop: threading.Event,
    group: str,
    *,
    only: Sequence[str] | None = None,
    once: bool = False,
    on_reading: Callable[[], object] = lambda: None,
) -> int:
    """Index all clusters, or `only` these, until told to stop, or once until the ends; return the new dead letters.

    Clusters that an administrator adds or removes start and stop within seconds. `on_reading` is called when the
    indexer of the own cluster, or of the first of `only`, has subscribed. An unexpected error of one indexer ends all.
    With `once` the clusters are indexed one after another.
    """
    if once:
        return sum(_index_once(name, stop, group, on_reading) for name in _wanted(only, ()))
    first = only[0] if only else clusters.indexed()[0]
    indexers = _ClusterIndexers(
        lambda name: _ClusterIndexer(name, group, on_reading if name == first else lambda: None)
    )
    try:
        indexers.start(_wanted(only, ()))
        while not stop.wait(LOOK_S) and indexers.check():
            indexers.end_all_but(wanted := _wanted(only, indexers.names))
            indexers.start(wanted)
    finally:
        indexers.end_all_but(())
        indexed = indexers.join()
    return indexed


def _index_once(cluster: str, stop: threading.Event, group: str, on_reading: Callable[[], object]) -> int:
    with clusters.on(cluster):
        return follow(stop, group, once=True, on_reading=on_reading)


class _ClusterIndexers:
    """The indexers that run, by cluster."""

    def __init__(self, make: Callable[[str], _ClusterIndexer]) -> None:
        self._make = make
        self._running: dict[str, _ClusterIndexer] = {}
        self._indexed = 0

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._running)

    def start(self, wanted: Sequence[str]) -> None:
        """Start the indexers of clusters that have none."""
        for name in wanted:
            if name not in self._running:
                self._running[name] = self._make(name)
                self._running[name].start()
                log.info("the indexer of cluster %s has started", name)

    def end_all_but(self, wanted: Sequence[str]) -> None:
        """Tell the indexers of all other clusters to stop."""
        for name, indexer in self._running.items():
            if name not in wanted:
                indexer.stop.set()

    def check(self) -> bool:
        """Forget the indexers that have ended; return whether one runs. Raises the error of one that failed."""
        for name, indexer in list(self._running.items()):
            if not indexer.is_alive():
                if indexer.error is not None:
                    raise indexer.error
                self._indexed += self._running.pop(name).indexed
        return bool(self._running)

    def join(self) -> int:
        """Wait until all have ended; return the number of dead letters that they indexed."""
        for indexer in self._running.values():
            indexer.join()
        self.check()
        return self._indexed


def _wanted(only: Sequence[str] | None, running: tuple[str, ...]) -> tuple[str, ...]:
    """Return the clusters to index. While the database is away, those that run."""
    try:
        found = clusters.indexed()
    except DatabaseError as error:
        log.warning("the settings of clusters can't be read: %s", error)
        close_old_connections()
        return running
    return found if only is None else tuple(name for name in only if name in found)
