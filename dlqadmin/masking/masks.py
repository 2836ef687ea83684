"""Mask fields inside the bytes of records. Whatever cannot be masked for sure is hidden as a whole."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property, lru_cache, partial
from typing import Any

import msgspec
import regex
from django.utils.crypto import salted_hmac

from dlqadmin.masking.json_paths import KEY, BadPath, PathStep, matches, parse
from dlqadmin.masking.json_spans import NUMBER, Node, NotJson, read
from dlqadmin.masking.models import MaskedField, MaskedShape

MASK = "***"
FEWEST_SHOWN = 8  # characters; of shorter texts the last four are not shown
FEWEST_FOUND = 4  # characters of a masked value that is looked for in messages
MAX_BYTES = 1024 * 1024  # larger values are hidden as a whole
TIMEOUT_S = 0.05  # of one expression on one text
FLOAT32 = 1e-6  # the relative error of a number that a sink stored as a 32 bit float
_NUMERAL = re.compile(r"\d[\d,_']*(?:\.\d+)?(?:[eE][+-]?\d{1,5}(?!\d))?")
Pairs = Sequence[tuple[str, bytes | None]]


class HiddenWhole(ValueError):
    """The content cannot be masked for sure, so nothing of it is shown. The text says why."""


class FieldMask(msgspec.Struct, frozen=True):
    """A rule that holds for one record: the field, and what is shown instead."""

    kind: str
    field: str
    show: str

    def shown(self, text: str) -> str:
        """Return the mask of a text. Its width does not depend on the text."""
        if self.show == MaskedShape.LAST_FOUR:
            # The last four may not break the JSON or the line that they are shown in.
            return MASK + text[-4:] if len(text) >= FEWEST_SHOWN and text[-4:].isalnum() else MASK
        if self.show == MaskedShape.HASH:
            # Keyed, so that nobody can compare the hashes of guesses without asking the dashboard.
            digest = salted_hmac("dlqadmin.masking", text.encode("utf-8", "surrogatepass"), algorithm="sha256")
            return f"sha256:{digest.hexdigest()[:4]}…{digest.hexdigest()[-4:]}"
        return MASK


class RecordMasks(msgspec.Struct, frozen=True, dict=True):
    """The masks of one topic's records for one person. There is at least one.

    They are sorted by kind once, because a page of a list masks a hundred records.
    """

    fields: tuple[FieldMask, ...]

    def value(self, data: bytes | None) -> bytes | None:
        """Return the value with its fields masked. Raises HiddenWhole."""
        return self._masked(data, of_key=False)

    def key(self, data: bytes | None) -> bytes | None:
        """Return the key with its fields masked. Raises HiddenWhole."""
        return self._masked(data, of_key=True)

    def header(self, name: str, data: bytes | None, secrets: Sequence[str]) -> bytes | None:
        """Return the value of a header, without masked values of other fields too. Raises HiddenWhole."""
        if data is None:
            return None
        for mask in self._of(MaskedField.HEADER):
            if mask.field == name:
                try:
                    return mask.shown(data.decode()).encode()
                except UnicodeDecodeError:
                    return MASK.encode()
        return self.text(_decoded(data), secrets).encode()

    def text(self, text: str, secrets: Sequence[str]) -> str:
        """Return a message about the record without its masked values. Raises HiddenWhole."""
        for secret in secrets:
            for spelled in {secret, json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1]}:
                text = text.replace(spelled, MASK)
        if numbers := [float(secret) for secret in secrets if NUMBER.fullmatch(secret)]:
            text = _NUMERAL.sub(lambda found: MASK if _is_one_of(found[0], numbers) else found[0], text)
        return self._expressed(text)

    def secrets(self, key: bytes | None, value: bytes | None, headers: Pairs) -> tuple[str, ...]:
        """Return the masked values that messages about the record may quote, the longest first. Raises HiddenWhole."""
        found: set[str] = set()
        for data, of_key in ((key, True), (value, False)):
            node = self._parsed(data, of_key=of_key)
            for one, _ in () if node is None else self._nodes(node, of_key=of_key):
                found.update(_leaves(one))
        names = {mask.field for mask in self._of(MaskedField.HEADER)}
        found.update(text.decode("utf-8", "replace") for name, text in headers if name in names and text)
        return tuple(sorted((text for text in found if len(text) >= FEWEST_FOUND), key=lambda text: (-len(text), text)))

    def has_rules(self, *, of_key: bool) -> bool:
        """Return whether a rule is for keys, or for values."""
        return bool(self._of(MaskedField.EXPRESSION) or self._of_part[of_key])

    def names_header(self, name: str) -> bool:
        """Return whether a rule masks the headers of this name."""
        return any(mask.field == name for mask in self._of(MaskedField.HEADER))

    def found(self, node: Node, *, of_key: bool) -> list[Node]:
        """Return the values that rules with a JSON path mask. Raises HiddenWhole."""
        return [one for one, _ in self._nodes(node, of_key=of_key)]

    def _of(self, kind: MaskedField) -> Sequence[FieldMask]:
        return self._by_kind.get(kind, ())

    @cached_property
    def _by_kind(self) -> dict[str, list[FieldMask]]:
        kinds: dict[str, list[FieldMask]] = {}
        for mask in self.fields:
            kinds.setdefault(mask.kind, []).append(mask)
        return kinds

    @cached_property
    def _of_part(self) -> dict[bool, list[FieldMask]]:
        """The masks with a JSON path, of keys and of values."""
        masks = self._of(MaskedField.JSON_PATH)
        return {of_key: [one for one in masks if one.field.startswith(KEY) is of_key] for of_key in (True, False)}

    def _paths(self, *, of_key: bool) -> list[tuple[tuple[PathStep, ...], FieldMask]]:
        return [(_path(mask.field.removeprefix(KEY)), mask) for mask in self._of_part[of_key]]

    def _parsed(self, data: bytes | None, *, of_key: bool) -> Node | None:
        """Return the JSON that paths are looked for in; None if there is nothing to look for. Raises HiddenWhole."""
        if data is None or not self._of_part[of_key]:
            return None
        if len(data) > MAX_BYTES:
            raise HiddenWhole("it is too large to be masked")
        try:
            return read(data)
        except NotJson:
            raise HiddenWhole("it is not JSON, so its masked fields cannot be found") from None

    def _nodes(self, node: Node, *, of_key: bool) -> Iterator[tuple[Node, FieldMask]]:
        """Yield what is masked, the outermost first; null has nothing to mask."""
        for steps, mask in self._paths(of_key=of_key):
            yield from ((one, mask) for one in matches(node, steps) if one.text != "null" or one.kind == "string")

    def _masked(self, data: bytes | None, *, of_key: bool) -> bytes | None:
        if data is None:
            return None
        node, made = self._parsed(data, of_key=of_key), data
        if node is not None:
            made = _replaced(data, self._nodes(node, of_key=of_key))
        if not self._of(MaskedField.EXPRESSION):
            return made
        return self._expressed(_decoded(self._unescaped(made))).encode()

    def _unescaped(self, data: bytes) -> bytes:
        r"""Return JSON with the masks of strings whose escapes, such as `\u0031`, hide a match from an expression."""
        if b"\\" not in data:
            return data
        try:
            node = read(data)
        except NotJson:
            return data
        escaped = [one for one in _strings(node) if b"\\" in data[one.start : one.end]]
        masked = [(one, self._expressed(one.text)) for one in escaped]
        return _spliced(
            data, [(one.start, one.end, json.dumps(text).encode()) for one, text in masked if text != one.text]
        )

    def _expressed(self, text: str) -> str:
        """Return the text with each match of an expression masked. Raises HiddenWhole."""
        for mask in self._of(MaskedField.EXPRESSION):
            if len(text) > MAX_BYTES:
                raise HiddenWhole("it is too large to be masked")
            shown = partial(_shown_match, mask)
            try:
                text = _expression(mask.field).sub(shown, text, timeout=TIMEOUT_S)
            except TimeoutError:
                raise HiddenWhole("a rule took too long on it") from None
        return text


def check(kind: str, field: str) -> None:
    """Raise HiddenWhole if no rule can have this field: it would hide the whole of every record."""
    if kind == MaskedField.JSON_PATH:
        _path(field.removeprefix(KEY))
    elif kind == MaskedField.EXPRESSION and _expression(field).search(""):
        raise HiddenWhole("the regular expression matches an empty text, so it would match everywhere")


def _is_one_of(numeral: str, numbers: Sequence[float]) -> bool:
    """Return whether a numeral, such as `1,234.50`, has one of these values, to the precision of a 32 bit float."""
    value = float(re.sub(r"[,_']", "", numeral))
    return any(math.isclose(value, abs(number), rel_tol=FLOAT32) for number in numbers)


def _shown_match(mask: FieldMask, found: Any) -> str:
    return mask.shown(found[0])


@lru_cache(512)
def _path(text: str) -> tuple[PathStep, ...]:
    try:
        return parse(text)
    except BadPath as error:
        raise HiddenWhole(str(error)) from None


@lru_cache(512)
def _expression(text: str) -> Any:
    try:
        return regex.compile(text)
    except regex.error as error:
        raise HiddenWhole(f"not a regular expression: {error}") from None


def _decoded(data: bytes) -> str:
    if len(data) > MAX_BYTES:
        raise HiddenWhole("it is too large to be masked")
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise HiddenWhole("it is not UTF-8 text, so masked fields cannot be found in it") from None


def _replaced(data: bytes, found: Iterable[tuple[Node, FieldMask]]) -> bytes:
    """Return the bytes with each of these values replaced by a string; all other bytes stay."""
    spans = [(one.start, one.end, json.dumps(_mask_of(one, data, mask), ensure_ascii=False)) for one, mask in found]
    return _spliced(data, [(start, end, text.encode("utf-8", "replace")) for start, end, text in spans])


def _mask_of(node: Node, data: bytes, mask: FieldMask) -> str:
    if node.kind in ("string", "number"):
        return mask.shown(node.text)
    whole = data[node.start : node.end].decode()
    return mask.shown(whole) if mask.show == MaskedShape.HASH else MASK


def _spliced(data: bytes, spans: Iterable[tuple[int, int, bytes]]) -> bytes:
    """Return the data with these spans replaced. Of spans within each other the outermost counts."""
    parts, at = list[bytes](), 0
    for start, end, new in sorted(spans, key=lambda span: (span[0], -span[1])):
        if start >= at:
            parts += [data[at:start], new]
            at = end
    return b"".join([*parts, data[at:]])


def _strings(node: Node) -> Iterator[Node]:
    waiting = [node]
    while waiting:
        one = waiting.pop()
        if one.kind == "string":
            yield one
        waiting += [member.value for member in one.members]
        waiting += one.items


def _leaves(node: Node) -> Iterator[str]:
    waiting = [node]
    while waiting:
        one = waiting.pop()
        if one.kind in ("string", "number"):
            yield one.text
        waiting += [member.value for member in one.members]
        waiting += one.items
