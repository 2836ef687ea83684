from __future__ import annotations

from engine.connectors.mirror.clients import fill_missing_ends
from engine.record.record import TopicPartition


def test_a_partition_that_the_source_does_not_have_keeps_no_task_busy() -> None:
    gone, cut = TopicPartition("gone", 0), TopicPartition("t", 2)
    assert fill_missing_ends({gone: -1, cut: -1}, {gone: 7, cut: 5}, {"t": 2}) == {gone: 7, cut: 5}


def test_what_is_there_and_was_not_fetched_yet_has_no_end_and_what_was_has_its_own() -> None:
    new, read = TopicPartition("t", 0), TopicPartition("gone", 0)
    assert fill_missing_ends({new: -1, read: 9}, {new: 0, read: 7}, {"t": 1}) == {new: -1, read: 9}
