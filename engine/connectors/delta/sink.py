"""DeltaSink: appends the records of each commit to Delta Lake tables, each record once."""

from __future__ import annotations

from collections.abc import Mapping

from engine.config.options import parse_own
from engine.config.permissions import Permissions
from engine.connectors.delta.options import OPTIONS, TOPIC
from engine.connectors.delta.rows import DeltaRows
from engine.connectors.delta.table import TargetTable, open_table
from engine.connectors.objects.collecting_sink import CollectingSink
from engine.errors import ConfigError, OffsetsMissing
from engine.record.record import TopicPartition


class DeltaSink(CollectingSink[str, DeltaRows]):
    """Writes the collected values of a topic as rows of its table."""

    writes_to = "a Delta Lake table"

    def __init__(self, permissions: Permissions | None = None) -> None:
        """Write only below the file root of `permissions`, or to hosts that they allow."""
        super().__init__()
        self._permissions = permissions or Permissions()
        self._tables: dict[str, TargetTable] = {}  # by topic
        self._created: dict[str, bool] = {}  # the records that a table holds already have created it

    def start(self, config: Mapping[str, str]) -> None:
        self._options = parse_own(OPTIONS, config)
        self._connector = config.get("name", "")

    def find_ends(self, positions: Mapping[TopicPartition, int], log_ends: Mapping[TopicPartition, int]) -> None:
        """Read the tables, and where the rows of each partition end. `log_ends` are the partitions' end offsets.

        Raises OffsetsMissing if a table has rows beyond a partition's end: they are another topic's.
        """
        for topic in sorted({partition.topic for partition in positions}):
            table = self._tables[topic] = self._read(topic)
            self._created[topic] = table.version == 0
        for partition in positions:
            end = self._ends[partition] = self._tables[partition.topic].end_of(self._writer(partition)) or 0
            if end > log_ends.get(partition, end):
                raise OffsetsMissing(
                    f"the table has the records of {partition.topic}-{partition.partition} up to offset {end}, beyond "
                    f"the partition's end {log_ends[partition]}: the topic was deleted and created again; choose "
                    "another table.path, or give the connector another name"
                )

    def write(self, positions: Mapping[TopicPartition, int]) -> None:
        """Append the rows, which are of the records before these positions.

        Raises RetriableError if another task has written for a partition, or the store is away. The task begins again
        then.
        """
        for topic in sorted(self._open):
            ends = {one: end for one, end in positions.items() if one.topic == topic and end > self._ends[one]}
            written = {self._writer(partition): end for partition, end in ends.items()}
            self._tables[topic].append(self._open[topic].table(), written, self._options["compression.type"])
            self._ends |= ends
            del self._open[topic]

    def _place_of(self, partition: TopicPartition) -> str:
        return partition.topic

    def _opened(self, place: str, *, is_first: bool = False) -> DeltaRows:
        return DeltaRows(self._tables[place].columns, evolves=self._options["auto.evolve"], is_first=is_first)

    def _opened_check(self, place: str) -> DeltaRows:
        return self._opened(place, is_first=self._created[place])

    def _read(self, topic: str) -> TargetTable:
        path = self._options["table.path"].replace(TOPIC, topic)
        table = open_table(self._options, path, self._permissions.file_root)
        table.read()
        if not table.exists and not self._options["auto.create"]:
            text = f"is false, and there is no table {path}; create it, or set auto.create=true"
            raise ConfigError((("auto.create", "false", text),))
        return table

    def _writer(self, partition: TopicPartition) -> str:
        """Return the name of a partition's records in the table. Another connector may write the same topic there."""
        return f"{self._connector}/{partition.topic}-{partition.partition}"
