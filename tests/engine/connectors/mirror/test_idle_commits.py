from __future__ import annotations

from engine.connectors.mirror.idle_commits import REMIND_S, CommitRefresh


def test_each_task_of_an_idle_mirror_reminds_now_and_then() -> None:
    now = [0.0]
    reminders = CommitRefresh(lambda: now[0])

    def due() -> list[int]:
        return [task for task in range(2) if reminders.is_due(("g", "connect-m", task))]

    assert (due(), due()) == ([0, 1], [])
    now[0] = REMIND_S
    assert (due(), due()) == ([0, 1], [])
