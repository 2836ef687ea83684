"""The columns of an export file. Every format and manifest takes its columns from this table."""

from __future__ import annotations

from typing import NamedTuple

SCHEMA_VERSION = 1  # increased if a column's name, type or meaning changes; a new column does not change it


class Column(NamedTuple):
    """A column's name, and the type of its values."""

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
# JSON and CSV hold exact bytes as base64, and also as text if they are UTF-8.
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
