"""Paths of fields in JSON values: reading them, finding a column's path, and writing them in each language."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from dlqadmin.masking.json_spans import pointed

FieldPath = tuple[str | int, ...]

MAX_DEPTH = 20
MAX_ITEMS = 8  # of an array; further items have no paths of their own
DELIMITERS = (".", "_", "-", "$", "/")  # with which transforms such as Flatten join names
AFTER = "after"  # Debezium's state of a row that sinks write
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_KEYWORDS = {
    *("and", "as", "catch", "def", "elif", "else", "end", "foreach", "if", "import", "include", "label", "module"),
    *("not", "or", "reduce", "then", "try", "__loc__"),
}


def loaded_json(data: bytes | None) -> Any:
    """Parse bytes for reading only. Raises ValueError if they are not JSON."""
    if data is None:
        raise ValueError("null")
    try:
        return json.loads(data, parse_constant=_no_constant)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def nodes(value: Any) -> Iterator[tuple[FieldPath, Any]]:
    """Yield the path and value of each member and item, parents first.

    The schema of a Kafka Connect envelope is left out, because its members are no fields of the record.
    """
    waiting: list[tuple[FieldPath, Any]] = [((), value)]
    while waiting:
        path, node = waiting.pop()
        if path:
            yield path, node
        if len(path) < MAX_DEPTH:
            waiting.extend(reversed([((*path, name), one) for name, one in _children(path, node)]))


def is_leaf(node: Any) -> bool:
    """Return whether the value has no members and no items."""
    return not isinstance(node, dict | list) or not node


def value_at(value: Any, path: FieldPath) -> Any:
    """Return the value at this path, or None if it is null or missing."""
    for step in path:
        if isinstance(step, str):
            value = value.get(step) if isinstance(value, dict) else None
        else:
            value = value[step] if isinstance(value, list) and step < len(value) else None
    return value


def candidates(name: str, paths: Iterable[FieldPath]) -> list[FieldPath]:
    """Return the paths that a column, or a field of an error, is read from; the most likely first.

    The name may be that of the last member, or of several members joined by a transform. Spelling counts before
    case, and case before delimiters. Without a match the first part of the name is taken for a table or an alias.
    """
    known = list(paths)
    parts = name.split(".")
    for start in range(len(parts)):
        wanted = ".".join(parts[start:])
        rated = [(_rank(wanted, path), path) for path in known]
        if best := min((rank for rank, _ in rated if rank is not None), default=None):
            return sorted((path for rank, path in rated if rank == best), key=_order)
    return []


def jq_path(path: FieldPath) -> str:
    """Return the path as jq reads it, such as `.properties.gap` or `.lines[0]["unit price"]`."""
    steps = [
        f"[{step}]"
        if isinstance(step, int)
        else f".{step}"
        if _PLAIN.fullmatch(step) and step not in _KEYWORDS
        else f"[{json.dumps(step, ensure_ascii=False)}]"
        for step in path
    ]
    text = "".join(steps)
    return text if text.startswith(".") else f".{text}"


def pointer_of(path: FieldPath) -> str:
    """Return the path as a JSON Pointer (RFC 6901)."""
    return "".join(f"/{pointed(str(step))}" for step in path)


def plain_name(path: FieldPath) -> str:
    """Return the path for people, such as `properties.gap` or `coordinates[0]`."""
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return text.removeprefix(".")


def _children(path: FieldPath, node: Any) -> Sequence[tuple[str | int, Any]]:
    if isinstance(node, dict):
        is_envelope = not path and node.keys() == {"schema", "payload"}
        return [(name, one) for name, one in node.items() if not (is_envelope and name == "schema")]
    return list(enumerate(node[:MAX_ITEMS])) if isinstance(node, list) else []


def _rank(name: str, path: FieldPath) -> int | None:
    """Return how well the end of the path matches the name: 1 is exact, 3 is loose, None is not at all."""
    steps = [str(step) for step in path]
    best: int | None = None
    for length in range(1, len(steps) + 1):
        tail = steps[-length:]
        if name in {delimiter.join(tail) for delimiter in DELIMITERS}:
            return 1
        if name.lower() in {delimiter.join(tail).lower() for delimiter in DELIMITERS}:
            best = 2
        elif best is None and _folded(name) and _folded(name) == _folded("".join(tail)):
            best = 3
    return best


def _order(path: FieldPath) -> tuple[bool, int, str]:
    return AFTER not in path, len(path), plain_name(path)


def _folded(text: str) -> str:
    return re.sub(r"[\W_]+", "", text).lower()


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")
