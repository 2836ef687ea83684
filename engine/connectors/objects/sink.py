"""ObjectStoreSink: collects the records of each partition, and writes them as one object at each commit.

The objects of a partition form a chain. An object is named by the offset at which the object before it ends, or by 0,
and carries the offset at which it ends itself. It is created only if there is none with its name. So of two tasks that
work on one partition at once, one writes the next object, and the other begins again.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping

from engine.config.options import parse_own
from engine.config.permissions import Permissions
from engine.connectors.objects.collecting_sink import CollectingSink
from engine.connectors.objects.formats import OpenObject, open_object
from engine.connectors.objects.options import OPTIONS, PARQUET
from engine.connectors.objects.stores import ObjectStore, open_store
from engine.errors import ConfigError, OffsetsMissing, RetriableError
from engine.record.record import TopicPartition

DIGITS = 20  # of an offset in a name, so that names sort as offsets do
_newest: dict[tuple[str, str], str] = {}  # paths that earlier leases found, by store and folder: names only grow


class ObjectStoreSink(CollectingSink[TopicPartition, OpenObject]):
    """Writes the collected values of a partition as one object."""

    writes_to = "an object store"
    takes_unread = True

    def __init__(self, permissions: Permissions | None = None) -> None:
        """Write only below the file root of `permissions`, or to hosts that they allow."""
        super().__init__()
        self._permissions = permissions or Permissions()
        self._is_unread = False
        self._later: dict[TopicPartition, list[str]] = {}  # the paths of objects that begin after the position

    def use_unread(self) -> None:
        """Expect JSON values whose parts may be unread."""
        self._is_unread = True

    def start(self, config: Mapping[str, str]) -> None:
        self._options = parse_own(OPTIONS, config)
        self._store: ObjectStore = open_store(self._options, self._permissions.file_root)
        self._format, self._codec = self._options["format"], self._options["compression.type"]
        is_gzip = self._codec == "gzip"
        self._suffix = ".parquet" if self._format == PARQUET else ".jsonl.gz" if is_gzip else ".jsonl"
        self._name = (
            self._options["local.directory"] or f"{self._options['store.url']} {self._options['s3.bucket.name']}"
        )

    def find_ends(self, positions: Mapping[TopicPartition, int], log_ends: Mapping[TopicPartition, int]) -> None:
        """Read where the objects of each partition end, and which ones begin after the positions.

        `log_ends` are the end offsets of the partitions.

        Raises OffsetsMissing if objects hold offsets that the partition has not reached: it is another topic's.
        """
        for partition, position in positions.items():
            folder = self._folder(partition)
            self._store.check(folder)
            last, end = self._last_of_chain(folder)
            self._ends[partition] = end
            start = self._path(partition, position)
            has_later = last is not None and last > start
            self._later[partition] = sorted(self._store.paths(folder, start)) if has_later else []
            if end > log_ends.get(partition, end):
                raise OffsetsMissing(
                    f"the objects of {partition.topic}-{partition.partition} end at offset {end}, beyond the "
                    f"partition's end {log_ends[partition]}: the topic was deleted and created again; choose another "
                    "topics.dir"
                )

    def write(self, positions: Mapping[TopicPartition, int]) -> None:
        """Write the open objects, which hold the records before these positions.

        Raises RetriableError if another task has written the next object of a partition, or the store is away. The
        task begins again then.
        """
        for partition in sorted(self._open):
            path, end = self._path(partition, self._ends[partition]), positions[partition]
            if not self._store.create(path, self._open[partition].content(), end):
                raise RetriableError(f"another task has written {path}; this one reads on after it")
            self._ends[partition] = end
            del self._open[partition]

    def _last_of_chain(self, folder: str) -> tuple[str | None, int]:
        """Return the path of the last object, if there is one, and the offset at which it ends."""
        known = _newest.get((self._name, folder))
        path = max(self._store.paths(folder, known), default=known)
        end = 0 if path is None else self._store.end_of(path)
        if end is None and path == known:  # somebody has deleted objects meanwhile
            path = max(self._store.paths(folder, None), default=None)
            end = 0 if path is None else self._store.end_of(path)
        if end is None:
            raise RetriableError(f"the object {path} was deleted while its folder was read")
        if path is None:
            return path, end
        if not path.endswith(self._suffix):  # its names would not meet those of the other format
            text = f"must not change in a folder: {path} is there; choose another topics.dir"
            raise ConfigError((("format", self._format, text),))
        _newest[self._name, folder] = path
        return path, end

    def _place_of(self, partition: TopicPartition) -> TopicPartition:
        return partition

    def _opened(self, _place: TopicPartition) -> OpenObject:
        return open_object(self._format, self._codec, is_unread=self._is_unread)

    def _object_of(self, partition: TopicPartition, offset: int) -> int:
        return bisect_right(self._later[partition], self._path(partition, offset))

    def _path(self, partition: TopicPartition, start: int) -> str:
        """Return the path of the object that begins at an offset."""
        return f"{self._folder(partition)}/{partition.topic}+{partition.partition}+{start:0{DIGITS}}{self._suffix}"

    def _folder(self, partition: TopicPartition) -> str:
        return f"{self._options['topics.dir']}/{partition.topic}/partition={partition.partition}"
