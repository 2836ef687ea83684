"""The masked members of a key or value by path: they must survive every edit of people who do not see them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import count

import msgspec

from dlqadmin.masking.json_paths import KEY, BadPath, matches, parse
from dlqadmin.masking.json_spans import Member, Node, NotJson, pointed, read
from dlqadmin.masking.masks import HiddenWhole, Pairs, RecordMasks
from dlqadmin.masking.models import MaskedField

MOST_PATHS = 1000
# A member's name, an item's index, or an earlier duplicate of a member: its name and its number.
MaskedPath = tuple[str | int | tuple[str, int], ...]
_MASK = r"\*\*\*\w{0,4}|sha256:[0-9a-f]{4}…[0-9a-f]{4}"
WHOLE_MASK, ANY_MASK = re.compile(_MASK), re.compile(r"\*\*\*|sha256:[0-9a-f]{4}…[0-9a-f]{4}")


class MaskedMember(msgspec.Struct, frozen=True):
    """The bytes of a masked member, the bytes that are shown instead, and the latter as a JSON value."""

    data: bytes
    shown: bytes
    node: Node


def masked_members(masks: RecordMasks, data: bytes | None, *, of_key: bool) -> dict[MaskedPath, MaskedMember]:
    """Return the masked members by path. Raises HiddenWhole, also if an expression masks more than single members."""
    shown = masks.key(data) if of_key else masks.value(data)
    if data is None or shown is None or not masks.has_rules(of_key=of_key):
        return {}
    pairs = _masked_pairs(masks, data, shown, of_key=of_key)
    return {path: MaskedMember(data[a.start : a.end], shown[b.start : b.end], b) for path, a, b in pairs}


def masked_pointers(masks: RecordMasks, data: bytes, shown: bytes, *, of_key: bool) -> list[str]:
    """Return the first 1,000 masked members as JSON Pointers (RFC 6901). `shown` are the bytes with their masks.

    The list is empty if nothing is masked, or if an expression masks parts that are no JSON values.
    """
    if not masks.has_rules(of_key=of_key):
        return []
    try:
        paths = [_pointer(path) for path, _, _ in _masked_pairs(masks, data, shown, of_key=of_key)]
    except HiddenWhole:
        return []
    return list(dict.fromkeys(paths))[:MOST_PATHS]  # duplicates of a member have one pointer


def mask_in_draft(masks: RecordMasks, draft: bytes | None, original: bytes | None, *, of_key: bool) -> bool:
    """Return whether a draft holds the text of a mask that the original does not have.

    The text is looked for at the paths of the rules. It is looked for everywhere if the draft is not JSON, such as
    Avro, or if a rule is a regular expression.
    """
    if draft is None or draft == original or not masks.has_rules(of_key=of_key):
        return False
    expressions = any(mask.kind == MaskedField.EXPRESSION for mask in masks.fields)
    texts = None if expressions else _texts_at_paths(masks, draft, of_key=of_key)
    if texts is None:
        return masks_anywhere(draft) > masks_anywhere(original or b"")
    before = _texts_at_paths(masks, original or b"null", of_key=of_key) or []
    return any(WHOLE_MASK.fullmatch(text) and text not in before for text in texts)


def mask_in_headers(masks: RecordMasks, draft: Pairs, original: Pairs) -> bool:
    """Return whether a header of a draft holds the text of a mask that the original's header does not have."""
    names = {mask.field for mask in masks.fields if mask.kind == MaskedField.HEADER}
    expressions = any(mask.kind == MaskedField.EXPRESSION for mask in masks.fields)
    new = (pair for pair in draft if pair not in original and (expressions or pair[0] in names))
    return any(masks_anywhere(value or b"") for _, value in new)


def masks_anywhere(data: bytes) -> int:
    """Return the number of texts that look like masks."""
    return len(ANY_MASK.findall(data.decode("utf-8", "replace")))


def written(path: MaskedPath) -> str:
    """Return a path as a JSON Pointer (RFC 6901); "the whole" for the whole value."""
    return _pointer(path) or "the whole"


def at(node: Node, path: MaskedPath) -> Node | None:
    """Return the value at a path without earlier duplicates, or None."""
    found: Node | None = node
    for step in path:
        if found is None:
            return None
        if isinstance(step, int):
            found = found.items[step] if step < len(found.items) else None
        else:
            member = found.last().get(str(step))
            found = None if member is None else member.value
    return found


def is_duplicate(path: MaskedPath) -> bool:
    """Return whether the path leads through an earlier duplicate of a member, which JSON readers ignore."""
    return any(isinstance(step, tuple) for step in path)


def _pointer(path: MaskedPath) -> str:
    steps = (step[0] if isinstance(step, tuple) else step for step in path)
    return "".join(f"/{pointed(str(step))}" for step in steps)


def _masked_pairs(
    masks: RecordMasks, data: bytes, shown: bytes, *, of_key: bool
) -> Iterator[tuple[MaskedPath, Node, Node]]:
    try:
        node, seen = read(data), read(shown)
    except NotJson:
        if shown == data:
            return
        raise HiddenWhole("a rule masks parts of it that are no JSON values") from None
    spans = {(one.start, one.end) for one in masks.found(node, of_key=of_key)}
    yield from _pairs(node, seen, spans, ())


def _pairs(
    node: Node, seen: Node, spans: set[tuple[int, int]], path: MaskedPath
) -> Iterator[tuple[MaskedPath, Node, Node]]:
    """Yield the outermost masked values with what is shown instead. Raises HiddenWhole."""
    if (node.start, node.end) in spans:
        yield path, node, seen
    elif node.kind in ("object", "array"):
        names, shown = ([one.name for one in each.members] for each in (node, seen))
        if node.kind != seen.kind or names != shown or len(node.items) != len(seen.items):
            raise HiddenWhole("a rule masks more of it than single values")
        for step, member, other in zip(_steps(node.members), node.members, seen.members, strict=True):
            yield from _pairs(member.value, other.value, spans, (*path, step))
        for index, (item, other_item) in enumerate(zip(node.items, seen.items, strict=True)):
            yield from _pairs(item, other_item, spans, (*path, index))
    elif node.kind != seen.kind or node.text != seen.text:
        yield path, node, seen


def _steps(members: tuple[Member, ...]) -> Iterator[str | tuple[str, int]]:
    last = {member.name: index for index, member in enumerate(members)}
    counts = {name: count() for name in last}
    for index, member in enumerate(members):
        yield member.name if last[member.name] == index else (member.name, next(counts[member.name]))


def _texts_at_paths(masks: RecordMasks, data: bytes, *, of_key: bool) -> list[str] | None:
    """Return the strings at the paths of the rules; None if the data is not JSON."""
    try:
        node = read(data)
        paths = [
            parse(mask.field.removeprefix(KEY))
            for mask in masks.fields
            if mask.kind == MaskedField.JSON_PATH and mask.field.startswith(KEY) is of_key
        ]
    except (NotJson, BadPath):
        return None
    return [one.text for steps in paths for one in matches(node, steps) if one.kind == "string"]
