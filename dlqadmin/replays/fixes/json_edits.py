"""Edits one JSON value into another with as few changed bytes as possible.

Values that mean the same keep their bytes. Numbers keep their spelling; members keep their order, duplicates and
spaces.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from dlqadmin.masking.json_spans import Member, Node, exact, numbers, pointed, read, same

Span = tuple[int, int]  # start and end; the end is exclusive


class Unfaithful(ValueError):
    """The wanted value needs changes that nobody asked for. The text says which."""


class ByteEdit(msgspec.Struct, frozen=True):
    """A replacement of the bytes [start, end) at a path. `put` are the new values."""

    start: int
    end: int
    data: bytes
    path: str
    put: tuple[Node, ...] = ()


class Spliced(msgspec.Struct, frozen=True):
    """The new bytes, and the JSON Pointers of the changed values."""

    data: bytes
    paths: tuple[str, ...]


def splice(original: bytes, wanted: bytes, *, was: Node | None = None, rounds: bool = False) -> Spliced:
    """Return the original with the differences to `wanted` applied.

    If both mean the same, the bytes are identical. `was` is the parsed original, if there is one. `rounds` says that
    the tool that made `wanted` stores numbers as doubles, so a rounded number is not a wanted change. Raises NotJson
    and Unfaithful.
    """
    was, want = was or read(original), read(wanted)
    edits = sorted(_edits(original, was, wanted, want, ""), key=lambda edit: (edit.start, edit.end))
    if rounds:
        _refuse_rounded(was, edits)
    parts, at = [], 0
    for edit in edits:
        parts += [original[at : edit.start], edit.data]
        at = edit.end
    made = b"".join([*parts, original[at:]])
    # A wrong edit must never be stored, so the result is compared with the wanted value.
    if edits and not same(read(made), want):
        raise Unfaithful("the requested change can't be written into these bytes")
    return Spliced(made, tuple(sorted({edit.path for edit in edits})))


def _edits(original: bytes, was: Node, wanted: bytes, want: Node, path: str) -> Iterator[ByteEdit]:
    if was.kind == want.kind == "object":
        yield from _members(original, was, wanted, want, path)
    elif was.kind == want.kind == "array":
        yield from _items(original, was, wanted, want, path)
    elif not same(was, want):
        yield ByteEdit(was.start, was.end, wanted[want.start : want.end], path, (want,))


def _members(original: bytes, was: Node, wanted: bytes, want: Node, path: str) -> Iterator[ByteEdit]:
    mine, theirs = was.last(), want.last()
    for name, member in mine.items():
        if name in theirs:
            yield from _edits(original, member.value, wanted, theirs[name].value, f"{path}/{pointed(name)}")
    fresh = [member for name, member in theirs.items() if name not in mine]
    colon = _colon(original, was)
    texts = [wanted[one.start : one.name_end] + colon + wanted[one.value.start : one.value.end] for one in fresh]
    spans = [(one.start, one.value.end) for one in was.members]
    gone = [index for index, one in enumerate(was.members) if one.name not in theirs]
    paths = {index: f"{path}/{pointed(was.members[index].name)}" for index in gone}
    kept = _kept(spans, gone)
    yield from _cut(spans, kept, gone, paths)
    for edit in _put(original, was, spans, kept, texts):
        values = tuple(one.value for one in fresh)
        yield msgspec.structs.replace(edit, path=f"{path}/{pointed(fresh[0].name)}", put=values)
    # One edit inserts all new members. Empty edits name the paths of the others.
    end = was.end - 1
    yield from (ByteEdit(end, end, b"", f"{path}/{pointed(one.name)}") for one in fresh[1:])


def _items(original: bytes, was: Node, wanted: bytes, want: Node, path: str) -> Iterator[ByteEdit]:
    old, new = was.items, want.items
    if len(old) == len(new):
        for index, (one, other) in enumerate(zip(old, new, strict=True)):
            yield from _edits(original, one, wanted, other, f"{path}/{index}")
        return
    begin = _common(old, new)
    tail = _common(old[begin:][::-1], new[begin:][::-1])
    middle, fresh = old[begin : len(old) - tail], new[begin : len(new) - tail]
    if (taken := _missing(middle, fresh)) is not None:
        gone = [begin + index for index in taken]
        spans = [(one.start, one.end) for one in old]
        yield from _cut(spans, _kept(spans, gone), gone, {index: f"{path}/{index}" for index in gone})
        return
    both = min(len(middle), len(fresh))
    for index in range(both):
        yield from _edits(original, middle[index], wanted, fresh[index], f"{path}/{begin + index}")
    spans = [(one.start, one.end) for one in old]
    gone = list(range(begin + both, begin + len(middle)))
    kept = _kept(spans, gone)
    yield from _cut(spans, kept, gone, {index: f"{path}/{index}" for index in gone})
    put = fresh[both:]
    texts = [wanted[one.start : one.end] for one in put]
    for edit in _put(original, was, spans, kept, texts, before=begin + both):
        yield msgspec.structs.replace(edit, path=f"{path}/{begin + both}", put=put)


def _kept(spans: Sequence[Span], gone: Sequence[int]) -> list[int]:
    left = set(gone)
    return [index for index in range(len(spans)) if index not in left]


def _cut(spans: Sequence[Span], kept: Sequence[int], gone: Sequence[int], paths: dict[int, str]) -> Iterator[ByteEdit]:
    """Yield edits that remove these elements with their commas.

    An element before the last kept one goes with the comma after it, all others with the comma before.
    """
    last = kept[-1] if kept else -1
    for index in gone:
        if index < last:
            yield ByteEdit(spans[index][0], spans[index + 1][0], b"", paths[index])
        else:
            start = spans[index - 1][1] if index > 0 and last >= 0 else spans[index][0]
            end = spans[index][1] if last >= 0 or index + 1 == len(spans) else spans[index + 1][0]
            yield ByteEdit(start, end, b"", paths[index])


def _put(
    original: bytes,
    was: Node,
    spans: Sequence[Span],
    kept: Sequence[int],
    texts: Sequence[bytes],
    before: int | None = None,
) -> Iterator[ByteEdit]:
    """Yield an edit that inserts the texts.

    They go after the last kept element, or before the element with the index `before`. Spaces are copied from the
    existing elements.
    """
    if not texts:
        return
    comma = _between(original, was, spans)
    if before is not None and before < len(spans) and kept:
        yield ByteEdit(spans[before][0], spans[before][0], comma.join([*texts, b""]), "")
    elif kept:
        end = spans[kept[-1]][1]
        yield ByteEdit(end, end, b"".join(comma + text for text in texts), "")
    else:
        start = spans[0][0] if spans else was.start + 1
        yield ByteEdit(start, start, comma.join(texts), "")


def _between(original: bytes, was: Node, spans: Sequence[Span]) -> bytes:
    """Return the comma between two elements, with its spaces."""
    if len(spans) > 1:
        return original[spans[0][1] : spans[1][0]]
    if spans:
        return b"," + original[was.start + 1 : spans[0][0]]
    return b","


def _colon(original: bytes, was: Node) -> bytes:
    """Return the colon of a member, with its spaces."""
    first: Member | None = was.members[0] if was.members else None
    return original[first.name_end : first.value.start] if first else b":"


def _common(one: Sequence[Node], other: Sequence[Node]) -> int:
    """Return the number of leading elements that mean the same."""
    many = 0
    for mine, theirs in zip(one, other, strict=False):
        if not same(mine, theirs):
            break
        many += 1
    return many


def _missing(old: Sequence[Node], new: Sequence[Node]) -> list[int] | None:
    """Return the indexes of the removed elements, if `new` is `old` without them. Else None."""
    missing: list[int] = []
    for index, one in enumerate(old):
        if index - len(missing) < len(new) and same(one, new[index - len(missing)]):
            continue
        missing.append(index)
    return missing if len(missing) == len(old) - len(new) else None


def _refuse_rounded(was: Node, edits: Sequence[ByteEdit]) -> None:
    """Raise Unfaithful if a new number is an old one, rounded because no double can hold it."""
    lossy: dict[float, list[tuple[str, str]]] = {}
    for path, text in numbers(was):
        double = float(text)
        if double in (float("inf"), float("-inf")) or exact(repr(double).removesuffix(".0")) != exact(text):
            lossy.setdefault(_clamped(double), []).append((path, text))
    if not lossy:
        return
    for edit in edits:
        for _, text in (found for node in edit.put for found in numbers(node)):
            rounded_to_it = lossy.get(_clamped(float(text)), [])
            if rounded_to_it and all(exact(before) != exact(text) for _, before in rounded_to_it):
                path, before = rounded_to_it[0]
                where = path or "the root"
                rounded = f"jq would round {_short(before)} at {where} to {_short(text)}"
                raise Unfaithful(f"{rounded}; use JSON Patch or the form, which keep the number")


def _clamped(double: float) -> float:
    """Return the number as jq clamps it to the range of doubles."""
    largest = 1.7976931348623157e308
    return max(-largest, min(largest, double))


def _short(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:20]}…{text[-10:]}"
