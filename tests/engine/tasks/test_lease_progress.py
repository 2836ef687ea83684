"""What a lease says of itself."""

from __future__ import annotations

import msgspec

from engine.tasks.lease_progress import MOST_BYTES, values
from engine.worker_messages import LeaseProgress, TaskReport


def report(task: int, partitions: int) -> TaskReport:
    positions = {f"{'t' * 200}-{number}": number for number in range(partitions)}
    return TaskReport("c", task, 1, None, positions, positions, {}, {}, {}, {}, progressed=True)


def test_progress_is_told_in_as_few_records_as_are_small_enough() -> None:
    progress = LeaseProgress("7-1", tuple(report(task, 500) for task in range(5)))
    found = list(values(progress))
    told = [msgspec.json.decode(value, type=LeaseProgress) for value in found]
    assert [report for part in told for report in part.reports] == list(progress.reports)
    assert {part.lease_id for part in told} == {"7-1"}
    assert 1 < len(found) < 5
    assert all(len(value) <= MOST_BYTES for value in found)


def test_a_lease_that_begins_has_nothing_to_report_and_says_so() -> None:
    assert list(values(LeaseProgress("7-1", ()))) == [b'{"lease_id":"7-1","reports":[]}']
