"""Names in Avro schemas and properties, as Confluent's `AvroData` writes and reads them."""

from __future__ import annotations

import re
from typing import NamedTuple
from urllib.parse import quote_plus

NAMESPACE = "io.confluent.connect.avro"
DEFAULT_NAME = f"{NAMESPACE}.ConnectDefault"
ANYTHING = f"{NAMESPACE}.Anything"
UNION = f"{NAMESPACE}.Union"
ENUM = f"{NAMESPACE}.Enum"
MAP_ENTRY = "MapEntry"
RECORD_DOC = f"{NAMESPACE}.record.doc"
FIELD_DOC = f"{NAMESPACE}.field.doc."
ENUM_DOC = f"{NAMESPACE}.enum.doc."
ENUM_DEFAULT = f"{NAMESPACE}.enum.default."
FIELD_DEFAULT = f"{NAMESPACE}.field.default"  # marks a default that was the field's, not the type's
INTERNAL_TYPE = "connect.internal.type"
FIXED_SIZE = "connect.fixed.size"
DECIMAL_PRECISION = "connect.decimal.precision"
DEFAULT_PRECISION = 64

VALID_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_INVALID = re.compile(r"[^A-Za-z0-9_]")


class AvroOptions(NamedTuple):
    """The options of the conversion."""

    enhanced: bool = False
    meta_data: bool = True
    scrub: bool = False
    optional_map_keys: bool = False
    flatten_singletons: bool = True
    ignore_defaults: bool = False


def scrub(name: str, *, first: str = r"[0-9]") -> str:
    """Return a valid name: URL-encoded, with `_` for each invalid character. `first` matches forbidden beginnings."""
    if not name or (not _INVALID.search(name) and not re.match(first, name)):
        return name
    encoded = quote_plus(name, safe="*").replace("~", "%7E")
    if re.match(first, encoded):
        encoded = f"x{encoded}"
    return _INVALID.sub("_", encoded)


def scrub_full(name: str) -> str:
    """Return a full name with each part scrubbed."""
    return ".".join(map(scrub, name.split(".")))


def split(name: str) -> tuple[str | None, str]:
    """Return the namespace, or None, and the name."""
    namespace, _, short = name.rpartition(".")
    return namespace or None, short
