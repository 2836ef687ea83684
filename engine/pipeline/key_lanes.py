"""Key-ordered parallelism: put the records of a batch in several lanes at once, in order per key."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextvars import copy_context
from typing import Any

from engine.pipeline.guard import OF_NO_RECORD
from engine.pipeline.put_results import LanesFailed, merged_result
from engine.record.record import Record

Put = Callable[[Sequence[Record]], None]


class KeyLanes:
    """Threads that put parts of a batch at the same time. Records with the same key are in the same part.

    `put` must be safe to be called by several threads at once.
    """

    def __init__(self, put: Put, count: int) -> None:
        self._put = put
        self._count = count
        self._threads = ThreadPoolExecutor(count, thread_name_prefix="put-lane")

    def put(self, records: Sequence[Record]) -> None:
        """Put the batch, and return when all lanes have returned.

        Raises LanesFailed unless all records were delivered. Raises an exception that concerns no record as it is.
        """
        lanes = distribute([record.key for record in records], self._count)
        if len(lanes) == 1:
            self._put(records)
            return
        # Each with its own copy of the context, so that log lines of a lane name the task.
        calls = [
            self._threads.submit(copy_context().run, self._put, [records[index] for index in lane]) for lane in lanes
        ]
        wait(calls)
        errors: list[Exception | None] = []
        for call in calls:
            error = call.exception()
            if isinstance(error, OF_NO_RECORD) or not isinstance(error, Exception | None):
                raise error
            errors.append(error)
        if any(error is not None for error in errors):
            raise LanesFailed(merged_result(lanes, errors))

    def close(self) -> None:
        """Wait for calls in progress and end the threads."""
        self._threads.shutdown()


def distribute(keys: Sequence[Any], count: int) -> list[list[int]]:
    """Return the indexes of `keys` in at most `count` lanes, in ascending order in each lane.

    Equal keys are in the same lane. A new key goes to the shortest lane so far, and so does each record without a key,
    because Kafka promises no order among these.
    """
    lanes: list[list[int]] = [[] for _ in range(min(count, len(keys)))]
    lanes_by_key: dict[Hashable, list[int]] = {}
    for index, key in enumerate(keys):
        if key is None:
            min(lanes, key=len).append(index)
            continue
        name = hashable(key)
        lane = lanes_by_key.get(name)
        if lane is None:
            lane = lanes_by_key[name] = min(lanes, key=len)
        lane.append(index)
    return [lane for lane in lanes if lane]


def hashable(key: Any) -> Hashable:
    """Return a hashable value that is equal for equal keys, whatever they are made of."""
    if isinstance(key, dict):
        return frozenset((name, hashable(part)) for name, part in key.items())
    if isinstance(key, list | tuple):
        return tuple(map(hashable, key))
    try:
        hash(key)
    except TypeError:
        return repr(key)
    found: Hashable = key
    return found
