"""Previews of bulk fixes: a sample before and after, counts, and warnings."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import msgspec
from django.contrib.auth.models import User
from django.db.models import QuerySet

from dlqadmin.deadletters.models import DeadLetter
from dlqadmin.deadletters.payloads import PayloadReader, RecordReader
from dlqadmin.replays.fixes import record_batches
from dlqadmin.replays.fixes.documents import BulkPreview, PreviewCounts, SampleDocument
from dlqadmin.replays.fixes.errors import ProgramRefused
from dlqadmin.replays.fixes.preview_findings import PreviewFindings
from dlqadmin.replays.fixes.record_batches import Masking
from dlqadmin.replays.fixes.record_changes import CHANGED, INVALID, UNTOUCHED, Change, Changer, changer
from dlqadmin.replays.items.messages import Outgoing
from dlqadmin.replays.models import Fix
from dlqadmin.replays.record_documents import letter_document, message_document
from dlqadmin.rest.problems import ParameterError

TRY_S = 5.0  # how long a sample is tried; the rest of it is left out
COUNT_S = 2.0  # how long a preview counts beyond its sample


class BulkFixRequest(msgspec.Struct, frozen=True):
    """The change to make. `replace`: also replace the author's existing drafts."""

    kind: str
    program: str
    replace: bool = False
    name: str = ""


def preview(found: QuerySet[DeadLetter], asked: BulkFixRequest, author: User, reader: PayloadReader) -> BulkPreview:
    """Return the sample before and after, counts and warnings.

    The sample is limited to five seconds, the counts to two. No draft is made. Raises ParameterError if the program
    can't be used.
    """
    began, findings, masking = time.monotonic(), PreviewFindings(), record_batches.masking_by(reader.rules)
    with usable(asked) as change:
        rows = list(tried(record_batches.sample(found), change, masking))
        drafted = _drafted(author, [row.pk for row, _, _ in rows])
        counts, whole = _counted(found, change, findings, masking)
    return BulkPreview(
        sample=[_shown(row, message, one, reader.of(row), drafted=row.pk in drafted) for row, message, one in rows],
        counts=counts,
        counted_all=whole,
        bytes_before=findings.bytes_before,
        bytes_after=findings.bytes_after,
        took_ms=round((time.monotonic() - began) * 1000),
        # They name fields that may lie within a masked one.
        nulls=[] if reader.rules else findings.nulls(),
        warnings=[] if reader.rules else findings.warnings(),
    )


@contextmanager
def usable(asked: BulkFixRequest) -> Iterator[Changer]:
    """Yield a changer. Its refusals become errors of the request parameter."""
    try:
        with changer(asked.kind, asked.program) as change:
            yield change
    except ProgramRefused as error:
        raise ParameterError("program", str(error)) from None


def tried(
    ids: Sequence[int], change: Changer, masking: Masking | None = None
) -> Iterator[tuple[DeadLetter, Outgoing | None, Change]]:
    """Yield the changes of these records until the time is over."""
    ends = time.monotonic() + TRY_S
    for one in record_batches.changes(ids, change, masking):
        yield one
        if time.monotonic() > ends:
            return


def _drafted(author: User, ids: list[int]) -> set[int]:
    return set(Fix.objects.filter(author=author, dead_letter_id__in=ids).values_list("dead_letter_id", flat=True))


def _counted(
    found: QuerySet[DeadLetter], change: Changer, findings: PreviewFindings, masking: Masking | None
) -> tuple[PreviewCounts, bool]:
    """Count records, the lowest ids first. Return the counts, and whether they cover all records."""
    counts, last, ends = Counter[str](), 0, time.monotonic() + COUNT_S
    while ids := record_batches.after(found, last):
        for row, message, one in record_batches.changes(ids, change, masking):
            counts[one.what] += 1
            findings.add(row, message, one)
            if time.monotonic() > ends:
                return _named(counts), not found.filter(pk__gt=row.pk).exists()
        last = ids[-1]
    return _named(counts), True


def _named(counts: Counter[str]) -> PreviewCounts:
    return PreviewCounts(
        matched=counts.total(), changed=counts[CHANGED], untouched=counts[UNTOUCHED], invalid=counts[INVALID]
    )


def _shown(
    row: DeadLetter, message: Outgoing | None, change: Change, reader: RecordReader, *, drafted: bool
) -> SampleDocument:
    if message is not None:
        reader = reader.knowing(message.key, message.value, message.headers)
    return SampleDocument(
        dead_letter=letter_document(row, reader),
        what=change.what,
        why=change.why if reader.may_read else "",  # with masks, the program has seen no masked value
        paths=list(change.paths),
        drafted=drafted,
        before=None if message is None else message_document(message, reader),
        after=None if change.message is None else message_document(change.message, reader),
    )
