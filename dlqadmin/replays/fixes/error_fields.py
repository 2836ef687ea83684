"""The fields that an error message names: null columns, missing fields, and values of a wrong type."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Literal

import msgspec

Fault = Literal["null", "missing", "type"]

MAX_ERROR = 8000
MAX_NAMED = 20  # fields of many messages
NAME = r"[\"'`\[]?(?P<name>[\w$-]+(?:\.[\w$-]+)*)[\"'`\]]?"
TABLE = r"[\"'`]?(?P<table>[\w$.-]*[\w$-])[\"'`]?"
KIND = r"(?P<kind>[A-Za-z][\w]*)"
MEMBER = r"(?:field|property|column|key|attribute)"

# (fault, pattern) for the messages of databases, Kafka Connect and this engine.
MESSAGES: tuple[tuple[Fault, str], ...] = (
    # SQLite writes `table.column`. A flattened column has dots of its own.
    ("null", rf"NOT NULL constraint failed: (?P<table>[\w$-]+)\.{NAME}"),
    ("null", rf"null value in column {NAME}(?: of relation {TABLE})?"),  # PostgreSQL
    ("null", rf"value NULL into column {NAME}(?:, table {TABLE})?"),  # SQL Server
    ("null", r"insert NULL into \((?:\"[\w$]+\"\.)?\"(?P<table>[\w$]+)\"\.\"(?P<name>[\w$]+)\"\)"),  # Oracle
    ("null", rf"column {NAME} (?:cannot|can't|must not|may not) be null"),  # MySQL
    ("null", rf"null used for required field: {NAME}(?:, schema type: {KIND})?"),  # Kafka Connect
    ("missing", rf"field {NAME} doesn't have a default value"),  # MySQL
    ("missing", rf"missing required (?:creator )?{MEMBER}s?:? {NAME}"),
    ("missing", rf"required {MEMBER}:? {NAME},? (?:is |was )?(?:missing|not found|absent|not set)"),
    ("missing", rf"(?<![\w$.-]){NAME} is a required {MEMBER}"),  # the lookbehind keeps long words from being slow
    ("null", rf"{MEMBER} {NAME}[^\n]{{0,40}}\b(?:is|was|be|must not be|cannot be) null"),
    ("type", rf"\bfield {NAME}(?:: [^\n]{{0,200}}| is an? \w+, which|) can't be cast to {KIND}"),  # this engine
    ("type", rf"column {NAME} is of type {KIND}[^\n]{{0,40}} but expression is of type"),  # PostgreSQL
    ("type", rf"incorrect {KIND} value: [^\n]{{0,200}} for column {NAME}"),  # MySQL
    ("type", rf"(?:data too long|out of range value) for column {NAME}"),  # MySQL
)
PATTERNS = tuple((fault, re.compile(pattern, re.IGNORECASE)) for fault, pattern in MESSAGES)
# Jackson: `through reference chain: com.shop.Order["lines"]->java.util.ArrayList[0]->com.shop.Line["price"]`.
CHAIN = re.compile(r"through reference chain: ([^\n)]{1,1000})")
LINK = re.compile(r"\[\"([^\"\]]{1,200})\"\]")


class ErrorField(msgspec.Struct, frozen=True):
    """A field that an error names.

    - `name`: as it is in the error. Dots separate a table or nested fields.
    - `table`: the table of the column, or empty.
    - `type`: the type that the error asks for, in lower case, or empty.
    """

    name: str
    fault: Fault
    table: str = ""
    type: str = ""


def error_fields(message: str) -> tuple[ErrorField, ...]:
    """Return the fields that the message names, each once, in the order of the patterns."""
    return _once(_found(message[:MAX_ERROR]))


def fields_of_all(messages: Iterable[str]) -> tuple[ErrorField, ...]:
    """Return the fields that any of these messages names, each once, and at most MAX_NAMED."""
    return _once(field for message in dict.fromkeys(messages) for field in error_fields(message))[:MAX_NAMED]


def _found(message: str) -> Iterator[ErrorField]:
    for fault, pattern in PATTERNS:
        for match in pattern.finditer(message):
            parts = {"table": "", "kind": "", **{name: text or "" for name, text in match.groupdict().items()}}
            yield ErrorField(parts["name"], fault, parts["table"].rsplit(".", 1)[-1], parts["kind"].lower())
    for chain in CHAIN.finditer(message):
        if names := LINK.findall(chain[1]):
            yield ErrorField(".".join(names), "type")


def _once(fields: Iterable[ErrorField]) -> tuple[ErrorField, ...]:
    """Return the fields without those of the same name and table. The first one counts."""
    kept: dict[tuple[str, str], ErrorField] = {}
    for field in fields:
        same_name = any(name == field.name for name, _ in kept)
        if (field.name, field.table) not in kept and not (same_name and not field.table):
            kept[field.name, field.table] = field
    return tuple(kept.values())
