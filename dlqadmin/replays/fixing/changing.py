"""What a fix makes of one record: changed, untouched, or invalid and why; no effects but jq's own process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import msgspec

from dlqadmin.replays.documents import MAX_SHOWN_BYTES
from dlqadmin.replays.fixing import forms, patching, values
from dlqadmin.replays.fixing.jq_fence import VALUE_S, Jq, refuse_reaching_out
from dlqadmin.replays.fixing.refusals import Refused, Unusable
from dlqadmin.replays.fixing.spans import NotJson, read
from dlqadmin.replays.fixing.splicing import Unfaithful, splice
from dlqadmin.replays.fixing.values import encodable
from dlqadmin.replays.models import BulkFixKind
from dlqadmin.replays.sending.messages import Outgoing

CHANGED, UNTOUCHED, INVALID = "changed", "untouched", "invalid"
MAX_VALUE_BYTES = MAX_SHOWN_BYTES
MAX_PROGRAM = 20_000


class Change(msgspec.Struct, frozen=True):
    """What became of one record: the message as it shall be (when changed), where it differs, why it can't be."""

    what: str
    message: Outgoing | None = None
    paths: tuple[str, ...] = ()
    why: str = ""


Changer = Callable[[Outgoing], Change]


@contextmanager
def changer(kind: str, program: str, value_s: float = VALUE_S) -> Iterator[Changer]:
    """The program, ready for any number of records. Raises Refused, now or with a record, when it can't be used."""
    if not program.strip():
        raise Refused("There is no program yet.")
    if len(program) > MAX_PROGRAM:
        raise Refused(f"A program has at most {MAX_PROGRAM} characters.")
    if not encodable(program):
        raise Refused("The program holds half a character, which has no bytes.")
    if kind == BulkFixKind.JQ:
        refuse_reaching_out(program)
        with Jq(program, value_s) as jq:
            yield _guarded(lambda message: _of_value(message, lambda value: _only(jq.run(value)), rounds=True))
    elif kind == BulkFixKind.PATCH:
        operations = patching.parse(program)
        yield _guarded(lambda message: _of_value(message, lambda value: _patched(operations, value)))
    else:
        rows = forms.parse(program)
        yield _guarded(lambda message: _filled(rows, message))


def _guarded(change: Changer) -> Changer:
    def guarded(message: Outgoing) -> Change:
        try:
            return change(message)
        except (Unusable, Unfaithful) as error:
            return Change(INVALID, why=str(error))
        except NotJson as error:
            return Change(INVALID, why=f"the value is not JSON: {error}")

    return guarded


def _of_value(message: Outgoing, wanted: Callable[[bytes], bytes | None], *, rounds: bool = False) -> Change:
    """The message with its value made to mean what is wanted; None: leave it. Raises what `_guarded` tells."""
    value = message.value
    if value is None:
        raise Unusable("the value is null: there is no JSON in it")
    if len(value) > MAX_VALUE_BYTES:
        raise Unusable(f"the value is larger than {MAX_VALUE_BYTES // 1024**2} MB, the most that is changed in bulk")
    was = read(value)
    result = wanted(value)
    if result is None:
        return Change(UNTOUCHED)
    try:
        spliced = splice(value, result, was=was, rounds=rounds)
    except NotJson as error:
        raise Unusable(f"the result is not JSON: {error}") from None
    if spliced.data == value:
        return Change(UNTOUCHED)
    return Change(CHANGED, Outgoing(message.key, spliced.data, message.headers), spliced.paths)


def _only(results: bytes) -> bytes | None:
    """The one result of a program; None when it gives none, as `select` does."""
    try:
        found = read(results).items
    except NotJson as error:
        raise Unusable(f"jq's result is not JSON: {error}") from None
    if len(found) > 1:
        raise Unusable("the program gives more than one result")
    return results[found[0].start : found[0].end] if found else None


def _patched(operations: list[patching.Operation], value: bytes) -> bytes | None:
    try:
        return values.dump(patching.apply(operations, values.loaded(value)))
    except patching.Unmet:
        return None


def _filled(rows: list[forms.Row], message: Outgoing) -> Change:
    """Key and headers as the form says, and the value where a line is about it."""
    framed = forms.frame(rows, message)
    paths = ("key",) * (framed.key != message.key) + ("headers",) * (framed.headers != message.headers)
    if forms.touches_value(rows):
        inner = _of_value(framed, lambda value: values.dump(forms.apply(rows, values.loaded(value))))
        if inner.message is not None:
            return Change(CHANGED, inner.message, (*paths, *inner.paths))
    return Change(CHANGED, framed, paths) if paths else Change(UNTOUCHED)
