"""A fix made elsewhere: records written to a file, and drafts made of the file that comes back, all or none.

One line a record (NDJSON): `id`, its place, `digest` of its own message, `key`, `value` and `headers` as `base64`, with
`text` beside it where the bytes are UTF-8. What comes back tells by either of both what shall be sent: the one that
differs from the record counts. Headers may come, go, move and be renamed.
"""

from __future__ import annotations

import base64
import binascii
import io
from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Annotated, Any

import msgspec
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet, Sum

from dlqadmin.audit.recording import record
from dlqadmin.deadletters.models import DeadLetter
from dlqadmin.replays.documents import place_document
from dlqadmin.replays.fixing.bulk import fresh_counts
from dlqadmin.replays.fixing.keeping import keep
from dlqadmin.replays.models import BulkFix, BulkFixKind, BulkFixStatus, Selection
from dlqadmin.replays.parts import parts
from dlqadmin.replays.sending.messages import Outgoing, original
from dlqadmin.rest.idempotency import Once
from dlqadmin.rest.pagination import MAX_ID
from dlqadmin.rest.problems import Conflict, ParameterError
from engine.record.record import Headers
from engine.record.replay import PREFIX

MAX_BYTES = 50 * 1024 * 1024
MOST_IDS = 200_000  # in a selection by ids: SQLite takes 250 000 parameters
AT_ONCE = 5  # originals in memory: each may be as large as a topic allows
MAX_TROUBLES = 20
TOO_LARGE = f"{MAX_BYTES // 1024**2} MB"


class Part(msgspec.Struct, frozen=True):
    """A key, value or header's value; null is null in either."""

    base64: str | msgspec.UnsetType | None = msgspec.UNSET
    text: str | msgspec.UnsetType | None = msgspec.UNSET


class HeaderLine(msgspec.Struct, frozen=True):
    """One header."""

    name: str
    value: Part


class Line(msgspec.Struct, frozen=True):
    """One record as it came back; its place is for people."""

    id: Annotated[int, msgspec.Meta(ge=1, le=MAX_ID)]
    digest: str
    key: Part
    value: Part
    headers: list[HeaderLine]


class Faulty(ValueError):
    """A line that can't be used; the text says why."""


def export(found: QuerySet[DeadLetter]) -> tuple[bytes, int]:
    """The file, and how many records are left out since their bytes are nowhere to be had. Raises Conflict."""
    sizes = found.order_by().aggregate(value=Sum("value_size"), key=Sum("key_size"))
    if (sizes["value"] or 0) + (sizes["key"] or 0) > MAX_BYTES:
        raise Conflict(f"The file would be larger than {TOO_LARGE}. Select fewer records.")
    lines, size, left_out = [], 0, 0
    for row in found.select_related("body").defer("body__context").order_by("pk").iterator(chunk_size=100):
        message = original(row)
        if message is None:
            left_out += 1
            continue
        lines.append(_line(row, message))
        size += len(lines[-1])
        if size > MAX_BYTES:
            raise Conflict(f"The file would be larger than {TOO_LARGE}. Select fewer records.")
    return b"".join(lines), left_out


def read(data: bytes) -> dict[int, tuple[int, Line]]:
    """Each record's line with its number, by id. Raises ParameterError, which names lines."""
    decoder, found, troubles = msgspec.json.Decoder(Line), dict[int, tuple[int, Line]](), list[str]()
    for number, text in enumerate(io.BytesIO(data), 1):
        if len(troubles) > MAX_TROUBLES:
            break
        if not text.strip():
            continue
        try:
            line = decoder.decode(text)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            troubles.append(f"line {number}: {error}")
            continue
        if line.id in found:
            troubles.append(f"line {number}: record {line.id} stands in line {found[line.id][0]} already")
        found[line.id] = (number, line)
        if len(found) > MOST_IDS:
            raise ParameterError("file", f"holds more than {MOST_IDS:,} records. Import it in parts.")
    _refuse(troubles)
    if not found:
        raise ParameterError("file", "holds no record")
    return found


def edits(found: Mapping[int, tuple[int, Line]]) -> dict[int, Outgoing]:
    """The messages that differ from the records' own. Raises ParameterError, which names lines."""
    made, troubles = dict[int, Outgoing](), dict[int, str]()
    for part in parts(sorted(found)):
        missing = set(part)
        rows = DeadLetter.objects.filter(pk__in=part).select_related("body").defer("body__context")
        for row in rows.iterator(chunk_size=AT_ONCE):
            missing.remove(row.pk)
            number, line = found[row.pk]
            try:
                message = _edited(line, row)
            except Faulty as error:
                troubles[number] = f"line {number}: {error}"
            else:
                if message is not None:
                    made[row.pk] = message
        troubles |= {found[pk][0]: f"line {found[pk][0]}: there is no record {pk}" for pk in missing}
        if len(troubles) > MAX_TROUBLES:
            break
    _refuse([troubles[number] for number in sorted(troubles)])
    return made


def take(
    found: Mapping[int, tuple[int, Line]],
    made: Mapping[int, Outgoing],
    selection: Selection,
    author: User,
    once: Once,
    now: datetime,
    *,
    replace: bool,
) -> BulkFix:
    """Drafts of what was edited, as a bulk fix that is done."""
    with transaction.atomic():
        bulk = BulkFix.objects.create(
            selection=selection, author=author, kind=BulkFixKind.OFFLINE, program="", status=BulkFixStatus.DONE,
            created_at=now, touched_at=now, done_at=now, idempotency_key=once.key, request_digest=once.digest,
        )  # fmt: skip
        written = keep(bulk, author, made, now, replace=replace)
        figures = {"matched": len(found), "changed": written, "untouched": len(found) - len(made)}
        bulk.counts = {**fresh_counts(replace=replace), **figures, "kept": len(made) - written}
        bulk.save(update_fields=["counts"])
        record(author, "imported drafts", "bulk fix", str(bulk), bulk.counts)
    return bulk


def _line(row: DeadLetter, message: Outgoing) -> bytes:
    document = {
        **place_document(row),
        "digest": message.digest,
        "key": _part(message.key),
        "value": _part(message.value),
        "headers": [{"name": name, "value": _part(value)} for name, value in message.headers],
    }
    return msgspec.json.encode(document) + b"\n"


def _part(data: bytes | None) -> dict[str, Any]:
    if data is None:
        return {"base64": None}
    document: dict[str, Any] = {"base64": base64.b64encode(data).decode()}
    try:
        return {**document, "text": data.decode()}
    except UnicodeDecodeError:
        return document


def _edited(line: Line, row: DeadLetter) -> Outgoing | None:
    """The message that the line wants; None when it is the record's own. Raises Faulty."""
    whole = original(row)
    if whole is None:
        raise Faulty(f"the original bytes of record {line.id} are {row.original}")
    if line.digest != whole.digest:
        raise Faulty(f"the digest is not that of record {line.id}: it was exported from another record")
    headers = tuple(_header(index, header, whole.headers) for index, header in enumerate(line.headers))
    message = Outgoing(_bytes("key", line.key, {whole.key}), _bytes("value", line.value, {whole.value}), headers)
    return None if message == whole else message


def _header(index: int, header: HeaderLine, before: Headers) -> tuple[str, bytes | None]:
    """The header; it was the one in its place, one of its name, or any, if it was there before."""
    if header.name.startswith(PREFIX):
        raise Faulty(f"{PREFIX}* is put on when the record is sent")
    named = [value for name, value in before if name == header.name]
    placed = [value for name, value in before[index : index + 1] if name == header.name]
    value = _bytes(f"header {index + 1}", header.value, {*placed}, {*named}, {value for _, value in before})
    return header.name, value


def _bytes(what: str, part: Part, *before: Collection[bytes | None]) -> bytes | None:
    """What the part says; where text and base64 differ, the one that was edited.

    `before` is what it may have been, the likeliest first.
    """
    if part.base64 is msgspec.UNSET and part.text is msgspec.UNSET:
        raise Faulty(f"{what}: neither base64 nor text; null is written as null")
    if part.text is msgspec.UNSET:
        return _decoded(what, part.base64)
    typed = _encoded(what, part.text)
    exact = typed if part.base64 is msgspec.UNSET else _decoded(what, part.base64)
    if exact == typed:
        return exact
    for known in before:
        if (exact in known) != (typed in known):
            if typed in known and any(exact in wider for wider in before):
                break  # moved and its text edited, or its base64 edited where it stood
            return typed if exact in known else exact
    if any(exact in known for known in before):
        raise Faulty(f"{what}: text and base64 differ, and which of them was edited can't be told; make them the same")
    raise Faulty(f"{what}: text and base64 differ, and neither is as it was; make them the same, or leave one out")


def _decoded(what: str, text: str | msgspec.UnsetType | None) -> bytes | None:
    try:
        return base64.b64decode(text, validate=True) if isinstance(text, str) else None
    except (binascii.Error, ValueError):
        raise Faulty(f"{what}: not base64") from None


def _encoded(what: str, text: str | None) -> bytes | None:
    try:
        return None if text is None else text.encode()
    except UnicodeEncodeError:
        raise Faulty(f"{what}: the text holds half a character, which has no bytes") from None


def _refuse(troubles: list[str]) -> None:
    if troubles:
        shown = [*troubles[:MAX_TROUBLES], *(["and more"] if len(troubles) > MAX_TROUBLES else [])]
        raise ParameterError("file", f"Nothing is kept: {'; '.join(shown)}")
