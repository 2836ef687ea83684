"""Records of a mirror's own topics in MirrorMaker 2's format: heartbeats and checkpoints. Pure."""

from __future__ import annotations

import struct
from typing import NamedTuple

from engine.connectors.mirror.options import MirrorConfig
from engine.record.record import TopicPartition

VERSION = 0
Row = tuple[bytes, bytes]


class Checkpoint(NamedTuple):
    """A group's offset on the source and its translation; `partition` is the target's."""

    group: str
    partition: TopicPartition
    upstream: int
    downstream: int
    metadata: str = ""

    def row(self) -> Row:
        key = _text(self.group) + _text(self.partition.topic) + struct.pack(">i", self.partition.partition)
        return key, struct.pack(">hqq", VERSION, self.upstream, self.downstream) + _text(self.metadata)


def parse_checkpoint(key: bytes | None, value: bytes | None) -> Checkpoint | None:
    """Parse a checkpoint; return None for a record in another format."""
    try:
        group, rest = _take_text(key or b"")
        topic, rest = _take_text(rest)
        (number,) = struct.unpack(">i", rest)
        version, upstream, downstream = struct.unpack_from(">hqq", value or b"")
        metadata, _ = _take_text((value or b"")[18:])
    except (struct.error, UnicodeDecodeError):
        return None
    partition = TopicPartition(topic, number)
    return Checkpoint(group, partition, upstream, downstream, metadata) if version == VERSION else None


def heartbeat(source: str, target: str, now_ms: int) -> Row:
    """Return a heartbeat record for the flow between two clusters."""
    return _text(source) + _text(target), struct.pack(">hq", VERSION, now_ms)


def syncs_topic(config: MirrorConfig) -> str:
    """Return the topic of offset syncs, on the source."""
    return f"mm2-offset-syncs.{config.target_alias}.internal"


def checkpoints_topic(config: MirrorConfig) -> str:
    """Return the topic of checkpoints, on the target."""
    return f"{config.source_alias}.checkpoints.internal"


def _text(text: str) -> bytes:
    data = text.encode()
    return struct.pack(f">h{len(data)}s", len(data), data)


def _take_text(data: bytes) -> tuple[str, bytes]:
    (length,) = struct.unpack_from(">h", data)
    if not 0 <= length <= len(data) - 2:
        raise struct.error("the text is incomplete")
    return data[2 : 2 + length].decode(), data[2 + length :]
