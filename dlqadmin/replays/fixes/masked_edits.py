"""Edits by people for whom fields of the record are masked.

They edit what they see. Their changes of other members are applied to the real bytes. A masked member stays at its
path with its bytes, so an edit cannot move it to a field that is shown. Nobody adds a value at a masked path either:
the mask of a guess, such as its hash, could be compared with the mask of the real value.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import msgspec

from dlqadmin.deadletters.payloads import Part, RecordReader, header_value
from dlqadmin.masking.json_spans import NotJson, read, same
from dlqadmin.masking.masked_members import (
    MaskedMember,
    MaskedPath,
    at,
    is_duplicate,
    mask_in_draft,
    mask_in_headers,
    masked_members,
    written,
)
from dlqadmin.masking.masks import HiddenWhole, RecordMasks
from dlqadmin.replays.fixes.drafts import DraftChange
from dlqadmin.replays.fixes.json_edits import Unfaithful, splice
from dlqadmin.replays.items.messages import Outgoing
from dlqadmin.rest.problems import ParameterError
from engine.record.record import Headers

HEADERS = "Headers of this record cannot be changed or added by you, because fields of it are masked for you."


class MaskedEdit(ValueError):
    """The edit touches what is masked. The text says which path, as one sentence."""


class MaskedChange(msgspec.Struct, frozen=True):
    """A draft's changes as a person wrote them who sees the record with masks."""

    change: DraftChange
    reader: RecordReader

    def of(self, message: Outgoing) -> Outgoing:
        """Return the message with these changes. Raises ParameterError."""
        change, masks = self.change, self.reader.masks
        if masks is None:
            return change.of(message)
        reader = self.reader.also_knowing(message.key, message.value, message.headers)
        key, value, headers = message.key, message.value, message.headers
        if change.key is not msgspec.UNSET:
            with _problem_of("key"):
                key = edited(masks, message.key, change.key, "key")
        if change.value is not msgspec.UNSET:
            with _problem_of("value"):
                value = edited(masks, message.value, change.value, "value")
        if change.headers is not msgspec.UNSET:
            with _problem_of("headers"):
                headers = edited_headers(reader, message.headers, change.headers)
        return Outgoing(key, value, headers)


def edited(masks: RecordMasks, data: bytes | None, sent: bytes | None, part: Part) -> bytes | None:
    """Return the data with the changes of a person to whom it was shown masked. Raises MaskedEdit."""
    of_key = part == "key"
    try:
        members = masked_members(masks, data, of_key=of_key)
    except HiddenWhole as error:
        raise MaskedEdit(f"The {part} is hidden from you, so you cannot edit it: {error}.") from None
    made = _patched(data, sent, members, part) if members and data is not None else sent
    try:
        after = masked_members(masks, made, of_key=of_key)
    except HiddenWhole as error:
        raise MaskedEdit(f"The {part} could not be masked for you after this edit: {error}.") from None
    for path in sorted(members.keys() | after.keys(), key=str):
        if _bytes(members.get(path)) != _bytes(after.get(path)):
            raise _touched(path, part)
    return made


def edited_headers(reader: RecordReader, headers: Headers, sent: Headers) -> Headers:
    """Return the headers without those that the person took off. Raises MaskedEdit.

    A new header that quotes a masked value would be shown masked, and so confirm a guess.
    """
    rest, made = list(headers), list[tuple[str, bytes | None]]()
    for name, value in sent:
        while rest:
            header = rest.pop(0)
            seen = header_value(*header, reader)
            if (header[0], seen) == (name, value):
                made.append(header)
                break
            if seen != header[1]:
                raise MaskedEdit(f"The header {header[0]} is masked for you, so it must stay as it is shown.")
        else:
            raise MaskedEdit(HEADERS)
    for name, value in rest:
        if header_value(name, value, reader) != value:
            raise MaskedEdit(f"The header {name} is masked for you, so it must stay as it is shown.")
    return tuple(made)


def holds_mask(masks: RecordMasks, draft: Outgoing, original: Outgoing | None) -> bool:
    """Return whether a draft holds the text of a mask, which would be sent as a value."""
    before = original or Outgoing(None, None, ())
    return (
        mask_in_draft(masks, draft.key, before.key, of_key=True)
        or mask_in_draft(masks, draft.value, before.value, of_key=False)
        or mask_in_headers(masks, draft.headers, before.headers)
    )


def _patched(data: bytes, sent: bytes | None, members: dict[MaskedPath, MaskedMember], part: Part) -> bytes:
    """Return the data with the differences between what was shown and what was sent."""
    if sent is None:
        raise _touched(next(iter(members)), part)
    try:
        node = read(sent)
    except NotJson as error:
        raise MaskedEdit(f"The {part} has masked fields, so it must stay JSON: {error}.") from None
    spans = []
    for path, member in members.items():
        if is_duplicate(path):
            continue  # JSON readers ignore it; the comparison of all masked members proves that it stays
        found = at(node, path)
        if found is None or not same(found, member.node):
            raise _touched(path, part)
        spans.append((found.start, found.end, member.data))
    wanted, end = list[bytes](), 0
    for start, stop, real in sorted(spans):
        wanted += [sent[end:start], real]
        end = stop
    try:
        return splice(data, b"".join([*wanted, sent[end:]])).data
    except (NotJson, Unfaithful) as error:
        raise MaskedEdit(f"The {part} cannot be edited like this: {error}.") from None


def _bytes(member: MaskedMember | None) -> tuple[bytes, bytes] | None:
    return None if member is None else (member.data, member.shown)


def _touched(path: MaskedPath, part: Part) -> MaskedEdit:
    where = f"The whole {part}" if not path else f"{written(path)} of the {part}"
    return MaskedEdit(f"{where} is masked for you, so it must stay as it is shown.")


@contextmanager
def _problem_of(parameter: str) -> Iterator[None]:
    """Turn a MaskedEdit into a problem of this parameter."""
    try:
        yield
    except MaskedEdit as error:
        raise ParameterError(parameter, str(error)) from None
