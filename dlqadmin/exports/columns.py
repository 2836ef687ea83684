"""The columns of an export file: those of the fields, and the payloads as the format writes them."""

from __future__ import annotations

from typing import NamedTuple

from dlqadmin.deadletters.search.fields import EXPORTED

SCHEMA_VERSION = 1  # increased if a column's name, type or meaning changes; a new column does not change it


class Column(NamedTuple):
    """A column's name, and the type of its values."""

    name: str
    type: str


FACTS = tuple(Column(field.export_name, field.type.value) for field in EXPORTED)
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
