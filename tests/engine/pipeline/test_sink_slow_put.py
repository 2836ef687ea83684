"""An error that was to stop the task is let go after all, because the window of the rate went by meanwhile."""

from __future__ import annotations

from collections.abc import Sequence

from engine.errors import RecordError
from engine.pipeline.outcome import Interrupted
from engine.policy.tolerance import TolerancePolicy
from engine.record.record import Record
from tests.engine.pipeline.rig import Rig, rows
from tests.fakes import Clock, Sink


def test_what_lies_behind_such_an_error_is_not_passed_by() -> None:
    clock = Clock()

    def slow(records: Sequence[Record]) -> None:
        bad = [place for place, record in enumerate(records) if record.value == 2]
        if bad:
            clock.time_ms += 61_000
            raise ExceptionGroup("rejected", [RecordError(place, ValueError("no")) for place in bad])

    window = TolerancePolicy(-1, 2, 60_000)
    sink = Sink(slow)
    records = rows(b"x0", b"x1", b"2", b"x3", b"4", b"5", b"6")
    rig = Rig(records, sink=sink, clock=clock, tolerance=window)
    while isinstance(rig.run(), Interrupted):
        rig = Rig(records, sink=sink, clock=clock, tolerance=window, group=rig.consumer.group)
    assert sink.delivered == [4, 5, 6]
    assert rig.committed() == 7
