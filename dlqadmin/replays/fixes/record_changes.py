"""The change of one record by a fix: changed, untouched, or invalid with a reason.

A value that names a schema is changed as JSON and encoded again. No side effects except jq's own process and questions
to the schema registry.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, Literal

import msgspec

from dlqadmin.broker import clusters
from dlqadmin.masking.json_spans import NotJson, read
from dlqadmin.replays.fixes import form_changes, json_patch, json_values
from dlqadmin.replays.fixes.errors import ProgramRefused, RecordUnusable
from dlqadmin.replays.fixes.jq_process import VALUE_S, Jq, refuse_reaching_out
from dlqadmin.replays.fixes.json_edits import Unfaithful, splice
from dlqadmin.replays.items.messages import Outgoing
from dlqadmin.replays.models import BulkFixKind
from dlqadmin.replays.record_documents import MAX_SHOWN_BYTES
from dlqadmin.schemas.record_encoding import EncodablePart, NotEncodable, encodable, told
from dlqadmin.schemas.registries import registry_of
from engine.schemas.framing import frame_of
from engine.schemas.problems import InvalidValue

What = Literal["changed", "untouched", "invalid"]
CHANGED: Final = "changed"
UNTOUCHED: Final = "untouched"
INVALID: Final = "invalid"
MAX_VALUE_BYTES = MAX_SHOWN_BYTES
MAX_PROGRAM = 20_000


class Change(msgspec.Struct, frozen=True):
    """The result for one record: the new message, the changed paths, or why it is invalid."""

    what: What
    message: Outgoing | None = None
    paths: tuple[str, ...] = ()
    why: str = ""


Changer = Callable[[Outgoing], Change]


@contextmanager
def changer(kind: str, program: str, value_s: float = VALUE_S) -> Iterator[Changer]:
    """Yield the program as a function that can change any number of records.

    Raises Refused, now or with a record, if the program can't be used.
    """
    if not program.strip():
        raise ProgramRefused("The program is empty.")
    if len(program) > MAX_PROGRAM:
        raise ProgramRefused(f"A program has at most {MAX_PROGRAM} characters.")
    if not json_values.encodable(program):
        raise ProgramRefused("The program contains an unpaired surrogate, which UTF-8 can't encode.")
    if kind == BulkFixKind.JQ:
        refuse_reaching_out(program)
        with Jq(program, value_s) as jq:
            yield _guarded(lambda message: _of_value(message, lambda value: _only(jq.run(value)), rounds=True))
    elif kind == BulkFixKind.PATCH:
        operations = json_patch.parse(program)
        yield _guarded(lambda message: _of_value(message, lambda value: _patched(operations, value)))
    else:
        rows = form_changes.parse(program)
        yield _guarded(lambda message: _filled(rows, message))


def _guarded(change: Changer) -> Changer:
    def guarded(message: Outgoing) -> Change:
        try:
            return change(message)
        except (RecordUnusable, Unfaithful) as error:
            return Change(INVALID, why=str(error))
        except NotJson as error:
            return Change(INVALID, why=f"the value is not JSON: {error}")

    return guarded


def _of_value(message: Outgoing, wanted: Callable[[bytes], bytes | None], *, rounds: bool = False) -> Change:
    """Return the message with its value edited to mean what `wanted` returns. None leaves it.

    Raises the errors that `_guarded` turns into an invalid change.
    """
    if message.value is None:
        raise RecordUnusable("the value is null, not JSON")
    if len(message.value) > MAX_VALUE_BYTES:
        raise RecordUnusable(f"the value is larger than {MAX_VALUE_BYTES // 1024**2} MB, the limit for bulk fixes")
    encoded = _encodable(message.value, message)
    value = message.value if encoded is None else encoded.json.encode()
    was = read(value)
    result = wanted(value)
    if result is None:
        return Change(UNTOUCHED)
    try:
        spliced = splice(value, result, was=was, rounds=rounds)
    except NotJson as error:
        raise RecordUnusable(f"the result is not JSON: {error}") from None
    if spliced.data == value:
        return Change(UNTOUCHED)
    made = spliced.data if encoded is None else _encoded(encoded, spliced.data)
    return Change(CHANGED, Outgoing(message.key, made, message.headers), spliced.paths)


def _encodable(value: bytes, message: Outgoing) -> EncodablePart | None:
    """Return the value to be changed as JSON, or None if it names no schema. Raises RecordUnusable."""
    if frame_of(value, message.headers, "value") is None:
        return None
    try:
        return encodable(value, message.headers, "value", registry_of(clusters.current()))
    except NotEncodable as error:
        raise RecordUnusable(f"the value can't be decoded: {error}") from None


def _encoded(part: EncodablePart, text: bytes) -> bytes:
    try:
        return part.encode(text.decode())
    except InvalidValue as error:
        raise RecordUnusable(f"the result does not fit the schema: {told(error)}") from None
    except NotEncodable as error:
        raise RecordUnusable(f"the result can't be encoded: {error}") from None


def _only(results: bytes) -> bytes | None:
    """Return the program's single result, None if it has none, as with `select`. Raises Unusable."""
    try:
        found = read(results).items
    except NotJson as error:
        raise RecordUnusable(f"jq's result is not JSON: {error}") from None
    if len(found) > 1:
        raise RecordUnusable("the program returns more than one result")
    return results[found[0].start : found[0].end] if found else None


def _patched(operations: list[json_patch.Operation], value: bytes) -> bytes | None:
    try:
        return json_values.dump(json_patch.apply(operations, json_values.loaded(value)))
    except json_patch.Unmet:
        return None


def _filled(rows: list[form_changes.FormLine], message: Outgoing) -> Change:
    """Apply the form to the key and headers, and to the value if a line changes it."""
    framed = form_changes.frame(rows, message)
    paths = ("key",) * (framed.key != message.key) + ("headers",) * (framed.headers != message.headers)
    if form_changes.touches_value(rows):
        inner = _of_value(framed, lambda value: json_values.dump(form_changes.apply(rows, json_values.loaded(value))))
        if inner.message is not None:
            return Change(CHANGED, inner.message, (*paths, *inner.paths))
    return Change(CHANGED, framed, paths) if paths else Change(UNTOUCHED)
