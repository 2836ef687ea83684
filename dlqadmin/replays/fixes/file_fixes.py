"""Fixes made in another tool: export of records, and import of the edited file as drafts.

All drafts of a file are stored, or none.

The file has one record per line (NDJSON): `id`, coordinates, the `digest` of the original message, and `key`, `value`
and `headers` as `base64`. If the bytes are UTF-8, `text` has them too. In the imported file either of the two may be
edited: the one that differs from the original counts. Headers may be added, removed, moved and renamed.
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

from dlqadmin.audit.entries import record
from dlqadmin.deadletters.models import DeadLetter, Original
from dlqadmin.deadletters.payloads import PayloadReader, RecordReader, release
from dlqadmin.replays.batches import parts
from dlqadmin.replays.fixes.bulk_fixes import figures, fresh_counts
from dlqadmin.replays.fixes.draft_storage import keep
from dlqadmin.replays.items.messages import Outgoing, original
from dlqadmin.replays.models import BulkFix, BulkFixKind, BulkFixStatus, Selection
from dlqadmin.replays.record_documents import place_document
from dlqadmin.rest.idempotency import RequestKey
from dlqadmin.rest.pagination import MAX_ID
from dlqadmin.rest.problems import ParameterError, StateConflict
from dlqadmin.teams.reach import EVERYTHING, reaching
from engine.record.record import Headers
from engine.record.replay import PREFIX

MAX_BYTES = 50 * 1024 * 1024
MOST_IDS = 200_000  # in a selection by ids: SQLite takes 250 000 parameters
AT_ONCE = 5  # originals in memory: each may be as large as a topic allows
MAX_TROUBLES = 20
TOO_LARGE = f"{MAX_BYTES // 1024**2} MB"


class Part(msgspec.Struct, frozen=True):
    """A key, a value, or the value of a header. Null means null in both fields."""

    base64: str | msgspec.UnsetType | None = msgspec.UNSET
    text: str | msgspec.UnsetType | None = msgspec.UNSET


class HeaderLine(msgspec.Struct, frozen=True):
    """One header."""

    name: str
    value: Part


class Line(msgspec.Struct, frozen=True):
    """One record of the imported file. Its coordinates are only for people."""

    id: Annotated[int, msgspec.Meta(ge=1, le=MAX_ID)]
    digest: str
    key: Part
    value: Part
    headers: list[HeaderLine]


class Faulty(ValueError):
    """A line can't be used. The text says why."""


def export(found: QuerySet[DeadLetter], reader: PayloadReader) -> tuple[bytes, int]:
    """Return the file, and the number of records left out because their bytes are lost.

    Raises StateConflict if the file would be too large.
    """
    sizes = found.order_by().aggregate(value=Sum("value_size"), key=Sum("key_size"))
    if (sizes["value"] or 0) + (sizes["key"] or 0) > MAX_BYTES:
        raise StateConflict(f"The file would be larger than {TOO_LARGE}. Select fewer records.")
    lines, size, left_out = [], 0, 0
    for row in found.select_related("body").defer("body__context").order_by("pk").iterator(chunk_size=100):
        message = original(row)
        if message is None:
            left_out += 1
            continue
        lines.append(_line(row, message, reader.of(row)))
        size += len(lines[-1])
        # base64 makes the file larger than the sum of the sizes.
        if size > MAX_BYTES:
            raise StateConflict(f"The file would be larger than {TOO_LARGE}. Select fewer records.")
    return b"".join(lines), left_out


def read(data: bytes) -> dict[int, tuple[int, Line]]:
    """Parse the file. Return each record's line number and line, by id.

    Raises ParameterError, which names the lines.
    """
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
            troubles.append(f"line {number}: record {line.id} is in line {found[line.id][0]} already")
        found[line.id] = (number, line)
        if len(found) > MOST_IDS:
            raise ParameterError("file", f"contains more than {MOST_IDS:,} records. Import it in parts.")
    _refuse(troubles)
    if not found:
        raise ParameterError("file", "contains no record")
    return found


def edits(found: Mapping[int, tuple[int, Line]]) -> dict[int, Outgoing]:
    """Return the messages that differ from the originals, by dead letter id.

    Raises ParameterError, which names the lines.
    """
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
        troubles |= {found[pk][0]: f"line {found[pk][0]}: record {pk} does not exist" for pk in missing}
        if len(troubles) > MAX_TROUBLES:
            break
    _refuse([troubles[number] for number in sorted(troubles)])
    return made


@reaching(EVERYTHING)  # the caller has frozen the records in reach
def take(
    found: Mapping[int, tuple[int, Line]],
    made: Mapping[int, Outgoing],
    selection: Selection,
    author: User,
    once: RequestKey,
    now: datetime,
    *,
    replace: bool,
) -> BulkFix:
    """Store the drafts as a finished bulk fix."""
    with transaction.atomic():
        bulk = BulkFix.objects.create(
            selection=selection, author=author, kind=BulkFixKind.OFFLINE, program="", status=BulkFixStatus.DONE,
            created_at=now, heartbeat=now, done_at=now, idempotency_key=once.key, request_digest=once.digest,
        )  # fmt: skip
        written = keep(bulk, author, made, now, replace=replace)
        looked = {"matched": len(found), "changed": written, "untouched": len(found) - len(made)}
        bulk.counts = {**fresh_counts(replace=replace), **looked, "kept": len(made) - written}
        bulk.save(update_fields=["counts"])
        record(author, "imported drafts", "bulk fix", str(bulk), figures(bulk.counts))
    return bulk


def _line(row: DeadLetter, message: Outgoing, reader: RecordReader) -> bytes:
    document = {
        **msgspec.structs.asdict(place_document(row)),
        "digest": message.digest,
        "key": _part(release(message.key, reader)),
        "value": _part(release(message.value, reader)),
        "headers": [{"name": name, "value": _part(release(value, reader))} for name, value in message.headers],
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
    """Return the message of the line, None if it equals the original. Raises Faulty."""
    whole = original(row)
    if whole is None:
        raise Faulty(f"the original bytes of record {line.id} are {Original(row.original).label.lower()}")
    if line.digest != whole.digest:
        raise Faulty(f"the digest does not match record {line.id}: the line was exported from another record")
    headers = tuple(_header(index, header, whole.headers) for index, header in enumerate(line.headers))
    message = Outgoing(_bytes("key", line.key, {whole.key}), _bytes("value", line.value, {whole.value}), headers)
    return None if message == whole else message


def _header(index: int, header: HeaderLine, before: Headers) -> tuple[str, bytes | None]:
    """Return the header.

    To find what was edited, its value is compared with three candidates: the original header at this position, the
    headers of this name, and all headers. Raises Faulty.
    """
    if header.name.startswith(PREFIX):
        raise Faulty(f"the replay adds the {PREFIX}* headers when it sends the record; remove this header")
    named = [value for name, value in before if name == header.name]
    placed = [value for name, value in before[index : index + 1] if name == header.name]
    value = _bytes(f"header {index + 1}", header.value, {*placed}, {*named}, {value for _, value in before})
    return header.name, value


def _bytes(what: str, part: Part, *before: Collection[bytes | None]) -> bytes | None:
    """Return the bytes of the part. If text and base64 differ, return the edited one.

    `before` has the possible originals, the most likely first. Raises Faulty.
    """
    if part.base64 is msgspec.UNSET and part.text is msgspec.UNSET:
        raise Faulty(f"{what}: has neither base64 nor text; write null as null")
    if part.text is msgspec.UNSET:
        return _decoded(what, part.base64)
    typed = _encoded(what, part.text)
    exact = typed if part.base64 is msgspec.UNSET else _decoded(what, part.base64)
    if exact == typed:
        return exact
    for known in before:
        # Exactly one of the two is an original, so the other one was edited.
        if (exact in known) != (typed in known):
            if typed in known and any(exact in wider for wider in before):
                break  # moved with its text edited, or its base64 edited in place
            return typed if exact in known else exact
    if any(exact in known for known in before):
        raise Faulty(f"{what}: text and base64 differ, and it is unclear which of them was edited; make them equal")
    raise Faulty(
        f"{what}: text and base64 differ from each other and from the original; make them equal, or remove one"
    )


def _decoded(what: str, text: str | msgspec.UnsetType | None) -> bytes | None:
    try:
        return base64.b64decode(text, validate=True) if isinstance(text, str) else None
    except (binascii.Error, ValueError):
        raise Faulty(f"{what}: is not base64") from None


def _encoded(what: str, text: str | None) -> bytes | None:
    try:
        return None if text is None else text.encode()
    except UnicodeEncodeError:
        raise Faulty(f"{what}: the text contains an unpaired surrogate, which UTF-8 can't encode") from None


def _refuse(troubles: list[str]) -> None:
    if troubles:
        shown = [*troubles[:MAX_TROUBLES], *(["and more"] if len(troubles) > MAX_TROUBLES else [])]
        raise ParameterError("file", f"Nothing was imported: {'; '.join(shown)}")
