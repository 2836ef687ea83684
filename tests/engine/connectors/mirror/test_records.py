from __future__ import annotations

import pytest

from engine.connectors.mirror.assignment import assigned_partitions, known_partitions, task_configs
from engine.connectors.mirror.groups import forward_commits, is_progress
from engine.connectors.mirror.offset_sync import OffsetSync, OffsetSyncWriter, parse_sync
from engine.connectors.mirror.options import ASSIGNED
from engine.connectors.mirror.records import Checkpoint, heartbeat, parse_checkpoint
from engine.connectors.mirror.topics import config_changes
from engine.errors import ConfigError
from engine.ports import Committed
from engine.record.record import TopicPartition

AT = TopicPartition("A.t\u00e9", 3)


def test_records_are_written_as_mirror_maker_writes_them() -> None:
    sync = OffsetSync(TopicPartition("t", 2), 5, 7)
    assert sync.key() == b"\x00\x01t\x00\x00\x00\x02"
    assert sync.value() == b"\x00" * 7 + b"\x05" + b"\x00" * 7 + b"\x07"
    assert heartbeat("A", "B", 1) == (b"\x00\x01A\x00\x01B", b"\x00\x00" + b"\x00" * 7 + b"\x01")
    checkpoint = Checkpoint("g", TopicPartition("t", 1), 2, 3, "m")
    key, value = checkpoint.row()
    assert key == b"\x00\x01g\x00\x01t\x00\x00\x00\x01"
    assert value == b"\x00\x00" + b"\x00" * 7 + b"\x02" + b"\x00" * 7 + b"\x03" + b"\x00\x01m"


def test_what_was_written_is_read() -> None:
    checkpoint = Checkpoint("gr\u00fcn", AT, 2**40, 3)
    sync = OffsetSync(AT, 2**40, 7)
    assert parse_checkpoint(*checkpoint.row()) == checkpoint
    assert parse_sync(sync.key(), sync.value()) == sync


@pytest.mark.parametrize("data", [None, b"", b"\x00", b"\x7f\xff", b"\xff\xff\x00", b"\x00\x01\xff\x00\x00\x00\x01"])
def test_what_is_none_of_ours_is_passed_over(data: bytes | None) -> None:
    assert parse_sync(data, OffsetSync(AT, 1, 1).value()) is None
    assert parse_sync(OffsetSync(AT, 1, 1).key(), data) is None
    assert parse_checkpoint(data, data) is None


def test_partitions_are_dealt_out_and_read_back() -> None:
    rows = {TopicPartition("a-1", number) for number in range(3)} | {TopicPartition("b", 0)}
    tasks = task_configs(rows, 2)
    assert tasks == [{ASSIGNED: "a-1-0,a-1-2"}, {ASSIGNED: "a-1-1,b-0"}]
    assert known_partitions(tasks) == rows
    assert task_configs([], 5) == []
    with pytest.raises(ConfigError):
        assigned_partitions({ASSIGNED: "a"})


def test_checkpoints_go_on_and_back_only_with_their_group() -> None:
    first = Checkpoint("g", AT, 10, 20)
    assert is_progress(None, first)
    assert not is_progress(first, first)
    assert is_progress(first, Checkpoint("g", AT, 12, 21))
    assert not is_progress(first, Checkpoint("g", AT, 12, 19)), "a newer leader may know less"
    assert is_progress(first, Checkpoint("g", AT, 5, 9))


def test_groups_of_the_target_are_only_ever_moved_on() -> None:
    wanted = {AT: Checkpoint("g", AT, 10, 20)}
    assert forward_commits(wanted, {}) == forward_commits(wanted, {AT: Committed(19)}) == {AT: Committed(20)}
    assert forward_commits(wanted, {AT: Committed(20)}) == forward_commits(wanted, {AT: Committed(21)}) == {}


def test_configurations_are_set_and_given_back() -> None:
    assert config_changes({"a": "1", "b": "2"}, {"b": "3", "c": "4"}) == {"a": "1", "b": "2", "c": None}


@pytest.mark.parametrize(
    ("sync", "due"),
    [
        (OffsetSync(AT, 1, 101), False),
        (OffsetSync(AT, 1, 150), False),  # 49 behind what a reader of the sync before would translate to
        (OffsetSync(AT, 1, 151), True),
        (OffsetSync(AT, 2, 101), True),  # the source's offsets jump
        (OffsetSync(AT, 1, 99), True),  # the target's go back
    ],
)
def test_a_sync_is_due_when_the_last_one_says_too_little(sync: OffsetSync, due: bool) -> None:
    writer = OffsetSyncWriter(lambda _: True, 50)
    writer.add(OffsetSync(AT, 0, 100))
    writer.send_pending()
    writer.add(sync)
    assert (AT in writer.pending, AT in writer.delayed) == (due, not due)
