"""The workloads by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.chaos.workloads.indexer import IndexerWorkload
from tests.chaos.workloads.mirror import MirrorWorkload
from tests.chaos.workloads.replay import ReplayWorkload
from tests.chaos.workloads.sink import SinkWorkload
from tests.chaos.workloads.source import SourceWorkload
from tests.chaos.workloads.sql import SqlWorkload
from tests.chaos.workloads.stream import StreamWorkload

KINDS: dict[str, Callable[..., Any]] = {
    "sink": SinkWorkload,
    "sql": SqlWorkload,
    "source": SourceWorkload,
    "stream": StreamWorkload,
    "mirror": MirrorWorkload,
    "replay": ReplayWorkload,
    "indexer": IndexerWorkload,
}
