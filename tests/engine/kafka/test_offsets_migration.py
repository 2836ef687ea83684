"""A connector whose own offsets topic is behind the worker's must not start there."""

from __future__ import annotations

import pytest

from engine.errors import FatalError
from engine.kafka.offsets import OffsetsTopic
from engine.kafka.offsets_migration import check_current, newer_keys
from engine.kafka.offsets_records import MIGRATED, OffsetKey, memory_key, offset_key, sentinel_key
from tests.engine.kafka.test_offsets import topic

A, B = offset_key("c", {"file": "a"}), offset_key("c", {"file": "b"})
ONE, TWO, NONE = b'{"at":1}', b'{"at":2}', b""
Written = tuple[bytes, bytes, int]  # key, value and time in ms


def written(name: str, *rows: Written) -> OffsetsTopic:
    """The topic after these commits."""
    made = topic()
    made.topic = name
    made.note_committed([row[:2] for row in rows], [row[2] for row in rows])
    return made


@pytest.mark.parametrize(
    ("own", "shared", "newer"),
    [
        pytest.param([(A, ONE, 5)], [(A, TWO, 6)], ["a"], id="moved on in the worker's topic"),
        pytest.param([(A, ONE, 5)], [(A, NONE, 6)], ["a"], id="deleted in the worker's topic"),
        pytest.param([(A, ONE, 5)], [(A, ONE, 5), (B, ONE, 6)], ["b"], id="another partition in the worker's topic"),
        pytest.param([], [(A, ONE, 5)], ["a"], id="nothing in its own topic but the mark"),
        pytest.param([(A, TWO, 6)], [(A, TWO, 6)], [], id="copied"),
        pytest.param([(A, TWO, 6)], [(A, ONE, 5)], [], id="not copied yet"),
        pytest.param([(A, TWO, 6)], [], [], id="never copied"),
        pytest.param([(A, ONE, 4)], [(A, ONE, 5)], [], id="migrated by a worker whose clock is behind"),
        pytest.param([(A, ONE, 6)], [(A, ONE, 6), (B, ONE, 5)], [], id="deleted, and compacted in its own topic"),
        pytest.param([(A, ONE, 5)], [(offset_key("d", {"file": "a"}), TWO, 9)], [], id="another connector"),
        pytest.param([(A, ONE, 5)], [(A, ONE, 5), (memory_key("c", 0), b"x", 9)], [], id="a memory alone"),
    ],
)
def test_offsets_that_the_workers_topic_alone_knows_are_found(
    own: list[Written], shared: list[Written], newer: list[str]
) -> None:
    mine = written("own", (sentinel_key("c"), MIGRATED, 1), *own)
    expected = [OffsetKey("c", b'{"file":"%s"}' % name.encode()) for name in newer]
    assert newer_keys("c", mine, written("shared", *shared)) == expected


def test_the_refusal_names_both_topics_their_times_and_the_remedy() -> None:
    with pytest.raises(FatalError) as refused:
        check_current("c", written("own", (A, ONE, 5000)), written("shared", (A, TWO, 6001)))
    text = str(refused.value)
    assert text.startswith(
        "topic shared has newer offsets of connector c than its own topic own: that of "
        '{"file":"a"} is of 1970-01-01T00:00:06.001+00:00, in own of 1970-01-01T00:00:05.000+00:00. '
    )
    assert "Set offsets.storage.topic to the name of a new topic, or stop the connector, delete own" in text
