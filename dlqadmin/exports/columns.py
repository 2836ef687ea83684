"""What a file of dead letters holds: one table, from which every format and manifest takes its columns."""

from __future__ import annotations

from typing import NamedTuple

SCHEMA_VERSION = 1  # raised when a column changes its name, its type or its meaning; a new one is no change


class Column(NamedTuple):
    """A column's name, and what its values are."""

    name: str
    type: str


FACTS = (
    Column("id", "long"),
    Column("cluster", "text"),
    Column("topic", "text"),
    Column("partition", "int"),
    Column("offset", "long"),
    Column("failed_at", "time"),
    Column("indexed_at", "time"),
    Column("origin_topic", "text"),
    Column("origin_partition", "int"),
    Column("origin_offset", "long"),
    Column("origin_timestamp", "time"),
    Column("connector", "text"),
    Column("task_id", "text"),
    Column("stage", "text"),
    Column("exception_class", "text"),
    Column("message", "text"),
    Column("group", "long"),
    Column("attempt", "int"),
    Column("dialect", "text"),
    Column("readable", "flag"),
    Column("original", "text"),
    Column("replay_state", "text"),
)
# In JSON and CSV exact bytes are base64, with their text beside them where they are UTF-8.
NDJSON = (
    *FACTS,
    Column("trace", "text"),
    Column("key", "base64 and text"),
    Column("value", "base64 and text"),
    Column("headers", "list of name, base64 and text"),
)
CSV = (
    *FACTS,
    Column("key_text", "text"),
    Column("key_base64", "base64"),
    Column("value_text", "text"),
    Column("value_base64", "base64"),
    Column("headers", "JSON list of name, base64 and text"),
)
PARQUET = (
    *FACTS,
    Column("trace", "text"),
    Column("key", "bytes"),
    Column("value", "bytes"),
    Column("headers", "list of name and bytes"),
)
