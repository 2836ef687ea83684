"""Texts of foreign exceptions without content of records: database facts, or a notice."""

from __future__ import annotations

import re
from typing import Any

WITHHELD = "message withheld (include.messages=false)"
# SQLite itself writes these messages. They name tables, columns and constraints. A trigger writes its own text.
_SQLITE_CONSTRAINTS = {
    f"SQLITE_CONSTRAINT_{kind}" for kind in ("CHECK", "DATATYPE", "FOREIGNKEY", "NOTNULL", "PRIMARYKEY", "UNIQUE")
}
_SQLITE_BINDING = re.compile(r"Error binding parameter \d+: type '[\w.]+' is not supported")
# Primary messages of these SQLSTATE classes name relations, columns and constraints. Values are in their details. A
# message with a context comes from a function, which may write anything.
_POSTGRES_NAMES_ALONE = {"08", "23", "40", "42", "53", "55", "57"}
_NAMES = (("schema_name", "schema"), ("table_name", "table"), ("column_name", "column"),
          ("constraint_name", "constraint"), ("datatype_name", "type"))  # fmt: skip


def without_content(error: BaseException, message: str) -> str:
    """Return the message of a foreign exception without content.

    Database errors keep their facts. Other messages are replaced by a notice that they are withheld.
    """
    of = type(error)
    if of.__module__ == "sqlite3":
        return message if _is_safe_sqlite(error, message) else WITHHELD
    if of.__module__.partition(".")[0] == "psycopg":
        return _postgres(error, message)
    return WITHHELD


def _is_safe_sqlite(error: Any, message: str) -> bool:
    name = getattr(error, "sqlite_errorname", None)
    if type(error).__name__ == "OperationalError":
        return name is not None  # it names a missing or locked object; values are bound, not part of the text
    return name in _SQLITE_CONSTRAINTS or _SQLITE_BINDING.fullmatch(message) is not None


def _postgres(error: Any, message: str) -> str:
    """Return the server's primary message if it holds no value, else its state and names."""
    if error.sqlstate is None:
        # OperationalError is about connections
        return message if type(error).__name__ == "OperationalError" else WITHHELD
    primary = error.diag.message_primary
    if primary and error.sqlstate[:2] in _POSTGRES_NAMES_ALONE and error.diag.context is None:
        return str(primary) if primary == message else f"{primary}; {WITHHELD}"
    names = ((word, getattr(error.diag, name)) for name, word in _NAMES)
    facts = ", ".join((f"SQLSTATE {error.sqlstate}", *(f'{word} "{name}"' for word, name in names if name)))
    return f"{facts}; {WITHHELD}"
