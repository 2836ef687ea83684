from __future__ import annotations

from engine.pipeline.progress import REMIND_MS
from tests.engine.pipeline.rig import Rig
from tests.fakes import Clock, raw


def test_what_does_not_move_is_committed_again_before_the_brokers_forget_it() -> None:
    clock = Clock()
    rig = Rig([raw(0, b"1")], clock=clock)
    rig.task.step(0)
    rig.task.save()
    commits = len(rig.consumer.commits)
    clock.time_ms += REMIND_MS - 1
    rig.task.save()
    assert len(rig.consumer.commits) == commits
    clock.time_ms += 1
    rig.task.save()
    rig.task.save()
    assert len(rig.consumer.commits) == commits + 1
