"""Due times of processors' schedules (KIP-1033, StreamTask#punctuate). Pure: times are parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import StrEnum

NEVER = 2**63 - 1
_ROOM = 64  # schedules kept before cancelled ones are removed
Callback = Callable[[int], object]


class PunctuationType(StrEnum):
    """The time that a schedule follows: the largest timestamp seen, or the clock."""

    STREAM_TIME = "STREAM_TIME"
    WALL_CLOCK_TIME = "WALL_CLOCK_TIME"


class Schedule:
    """A callback at an interval (ms), until it is cancelled."""

    def __init__(self, node: str, interval_ms: int, kind: PunctuationType, callback: Callback, due_ms: int) -> None:
        self.node = node
        self.interval_ms = interval_ms
        self.kind = kind
        self.callback = callback
        self.due_ms = due_ms
        self.cancelled = False

    def cancel(self) -> None:
        """Cancel the schedule. It is not called again, even if it is due."""
        self.cancelled = True

    def move_past(self, now_ms: int) -> None:
        """Set the next due time. Missed calls are not made up for."""
        self.due_ms += self.interval_ms * ((now_ms - self.due_ms) // self.interval_ms + 1)


class Schedules:
    """All schedules of a task. `soonest` is when the first of a kind is due."""

    def __init__(self) -> None:
        self._all: list[Schedule] = []
        self._full = _ROOM
        self.soonest: dict[PunctuationType, int] = dict.fromkeys(PunctuationType, NEVER)

    def add(self, node: str, interval_ms: int, kind: PunctuationType, callback: Callback, now_ms: int) -> Schedule:
        """Add a schedule.

        Stream time counts from 0: the first call is due with the next record, then at each multiple of the interval.
        The clock counts from now.
        """
        due_ms = 0 if kind is PunctuationType.STREAM_TIME else now_ms + interval_ms
        schedule = Schedule(node, interval_ms, kind, callback, due_ms)
        if len(self._all) >= self._full:  # cancelled ones may wait for a distant time
            self._all = [one for one in self._all if not one.cancelled]
            self._full = max(_ROOM, 2 * len(self._all))
        self._all.append(schedule)
        self.soonest[kind] = min(self.soonest[kind], due_ms)
        return schedule

    def due(self, kind: PunctuationType, now_ms: int) -> Iterator[Schedule]:
        """Yield each due schedule once, longest overdue first, without those cancelled meanwhile."""
        if self.soonest[kind] > now_ms:
            return
        waiting = [one for one in self._all if one.kind is kind and one.due_ms <= now_ms]
        for schedule in sorted(waiting, key=lambda one: one.due_ms):
            if not schedule.cancelled:
                schedule.move_past(now_ms)
                yield schedule
        self._all = [one for one in self._all if not one.cancelled]
        self.soonest[kind] = min((one.due_ms for one in self._all if one.kind is kind), default=NEVER)
