"""Fencing of transactional producers: take each id over, and let go of it (KIP-618, fencing during rebalance).

The client library has no `fenceProducers`; to initialise a producer asks the same of the broker: the id's epoch is
raised, which shuts the older producer out, and its open transaction is aborted. 32 ids take about one second.
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
    """Fence the producers of these tasks; `connect(task)` makes one with the task's id, not initialised.

    Returns when all are fenced. Else raises what one of them met; those that had not begun by then are not tried: on a
    cluster that is away each would wait as long.
    """
    if not tasks:
        return
    in_vain = Event()
    with ThreadPoolExecutor(min(MOST_THREADS, len(tasks)), thread_name_prefix="fence") as threads:
        for done in [threads.submit(_fence, connect, task, in_vain) for task in tasks]:
            done.result()


def _fence(connect: Callable[[int], TransactionalProducer], task: int, in_vain: Event) -> None:
    if in_vain.is_set():
        return
    with closing(connect(task)) as producer:
        try:
            producer.init()
        except EngineError:
            in_vain.set()
            raise
