"""How much a sink's task takes on before it commits."""

from __future__ import annotations

from engine.pipeline.sink_task import SLOW_MS
from tests.engine.pipeline.rig import Rig, rows
from tests.fakes import Clock


def test_a_slow_chunk_is_committed_as_far_as_it_came_and_gone_on_with() -> None:
    clock = Clock()

    def slow(value: int) -> int:
        clock.time_ms += SLOW_MS // 2
        return value

    rig = Rig(rows(*(b"%d" % number for number in range(5))), transform=slow, clock=clock)
    came = []
    for _ in range(2):
        assert rig.task.step(0) is None
        came.append((rig.committed(), rig.task.is_idle()))
    assert (came, rig.sink.puts) == ([(3, False), (5, True)], [3, 2])
    assert rig.sink.delivered == [0, 1, 2, 3, 4]


def test_what_a_slow_chunk_leaves_is_not_passed_by_when_the_lease_ends() -> None:
    clock = Clock()

    def slow(value: int) -> int:
        clock.time_ms += SLOW_MS
        return value

    rig = Rig(rows(b"1", b"2", b"3"), transform=slow, clock=clock)
    assert (rig.task.step(0), rig.task.save(), rig.committed()) == (None, None, 1)
    again = Rig(rows(b"1", b"2", b"3"), group=rig.consumer.group)
    assert (again.run(), again.sink.delivered, again.committed()) == (None, [2, 3], 3)


def test_in_small_steps_a_chunk_is_small() -> None:
    rig = Rig(rows(b"1", b"2", b"3"))
    rig.task.chunk_records = 2
    assert rig.task.step(0) is None
    assert (rig.sink.puts, rig.task.is_idle()) == ([2], False)
    assert rig.task.step(0) is None
    assert (rig.sink.puts, rig.task.is_idle()) == ([2, 1], True)
