"""Suggested fixes for one record.

There are three kinds: repaired JSON, a default for a null, and the nearest allowed value. No suggestion is applied
automatically. Each says why it is made, and which part is a guess.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterator

import msgspec

from dlqadmin.masking.json_spans import Node, NotJson, read
from dlqadmin.replays.fixes.error_fields import error_fields
from dlqadmin.replays.fixes.field_paths import FieldPath, candidates, pointer_of
from dlqadmin.replays.fixes.json_repair import repaired
from dlqadmin.replays.fixes.program_suggestions import default_value

MAX_VALUE_BYTES = 256 * 1024
MAX_ERROR = 8000
MAX_SUGGESTIONS = 5
MAX_ALLOWED = 200

ALLOWED = re.compile(
    r"\b(?:one of|allowed values?(?: are| is)?|permitted values?(?: are)?|valid values?(?: are)?|accepted values?)"
    r"(?: the following(?: values)?)?\s*+(?::\s*+)?([\[({][^\])}\n]+|[^.;\n\[({]+)",
    re.IGNORECASE,
)


class Suggestion(msgspec.Struct, frozen=True):
    """A value that could be sent instead, with a title and a reason."""

    title: str
    why: str
    value: bytes


def suggestions(value: bytes | None, error: str) -> list[Suggestion]:
    """Return suggestions for a value that failed with this error, the most likely first."""
    if value is None or len(value) > MAX_VALUE_BYTES:
        return []
    error = error[:MAX_ERROR]
    try:
        root = read(value)
    except NotJson as fault:
        return list(_repairs(value, fault))
    found = [*_defaults(value, root, error), *_nearest(value, root, error)]
    return found[:MAX_SUGGESTIONS]


def _repairs(value: bytes, fault: NotJson) -> Iterator[Suggestion]:
    # A value that begins with a control byte names its schema there, and a repair would leave that out.
    found = None if value[:1] < b" " and not value[:1].isspace() else repaired(value, fault)
    if found is None:
        return
    if found.what:
        yield Suggestion(
            f"Repair the JSON: {found.what}",
            f"The value is not JSON: {fault}. All other bytes stay as they are.",
            found.data,
        )
    else:
        why = (
            f"The value is not JSON: {fault}. The repair rewrites the value: spaces and the spelling of numbers "
            "may change."
        )
        yield Suggestion("Repair the JSON", why, found.data)


def _defaults(value: bytes, root: Node, error: str) -> Iterator[Suggestion]:
    """Yield defaults for the first null that the error names. With several nulls of that name, for each of them.

    The default fits the type if the error names it.
    """
    nulls = {path: node for path, node in _leaves(root) if node.kind == "literal" and node.text == "null"}
    for field in error_fields(error):
        paths = candidates(field.name, nulls) if field.fault == "null" else []
        default = default_value(field.type)
        for path in paths:
            node, pointer = nulls[path], pointer_of(path)
            # Without a known type, both a number and a string are suggested.
            for new in ["0", '""'] if default is None else [default]:
                why = (
                    f"The error says that {field.name} is null, and it is null here. {new} is a guess: the error "
                    "does not name a value."
                )
                yield Suggestion(f"Set {pointer} to {new}", why, value[: node.start] + new.encode() + value[node.end :])
        if paths:
            return


def _nearest(value: bytes, root: Node, error: str) -> Iterator[Suggestion]:
    """Yield the nearest allowed value for a string that the error cites.

    The error must list the allowed values.
    """
    listed = ALLOWED.search(error)
    if listed is None:
        return
    allowed = [one.strip(" \t\"'`[](){}") for one in re.split(r",|\bor\b|\|", listed[1])][:MAX_ALLOWED]
    allowed = [one for one in allowed if one]
    folded = {one.lower(): one for one in reversed(allowed)}
    rest = error[: listed.start()] + error[listed.end() :]
    for path, node in _leaves(root):
        pointer = pointer_of(path)
        if node.kind != "string" or node.text in allowed or not node.text or node.text not in rest:
            continue
        near = difflib.get_close_matches(node.text.lower(), folded, n=1, cutoff=0.5)
        if near:
            new = json.dumps(folded[near[0]], ensure_ascii=False)
            why = (
                f'The error cites "{node.text}" and lists {len(allowed)} allowed values. This one is the most similar.'
            )
            yield Suggestion(f"Set {pointer} to {new}", why, value[: node.start] + new.encode() + value[node.end :])


def _leaves(node: Node, path: FieldPath = ()) -> Iterator[tuple[FieldPath, Node]]:
    """Yield all strings, numbers and literals with their paths. Of duplicate members the last."""
    for name, member in node.last().items():
        yield from _leaves(member.value, (*path, name))
    for index, item in enumerate(node.items):
        yield from _leaves(item, (*path, index))
    if node.kind not in ("object", "array"):
        yield path, node
