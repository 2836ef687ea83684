"""Fencing of transactional producers: take each id over, then release it (KIP-618, fencing during rebalance).

The client library has no `fenceProducers`. Initialising a producer has the same effect on the broker: it raises the
id's epoch, which fences the older producer, and aborts its open transaction. 32 ids take about one second.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from threading import Event

from engine.errors import EngineError
from engine.ports import TransactionalProducer

MOST_THREADS = 8


def fence(connect: Callable[[int], TransactionalProducer], tasks: Sequence[int]) -> None:
    """Fence the producers of these tasks. `connect(task)` returns an uninitialised producer with the task's id.

    Returns when all are fenced. Otherwise it raises the first error, and tasks not yet begun are not tried: on an
    unavailable cluster each of them would wait for its time-out.
    """
    if not tasks:
        return
    has_failed = Event()
    with ThreadPoolExecutor(min(MOST_THREADS, len(tasks)), thread_name_prefix="fence") as threads:
        for done in [threads.submit(_fence, connect, task, has_failed) for task in tasks]:
            done.result()


def _fence(connect: Callable[[int], TransactionalProducer], task: int, has_failed: Event) -> None:
    if has_failed.is_set():
        return
    with closing(connect(task)) as producer:
        try:
            producer.init()
        except EngineError:
            has_failed.set()
            raise
