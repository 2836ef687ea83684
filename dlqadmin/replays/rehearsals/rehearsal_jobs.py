"""Rehearsals: requested by a person, done by a worker, stored with their results."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

import msgspec
from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from dlqadmin.deadletters.index import erased_records
from dlqadmin.deadletters.models import DeadLetter
from dlqadmin.replays.models import BulkFix, Fix, Rehearsal
from dlqadmin.replays.rehearsals import corrected_source_records, inputs, rehearsed_puts, sandboxed_run
from dlqadmin.replays.rehearsals.documents import RehearsedDocument, hindered, result, shown_stages, without_content
from dlqadmin.replays.rehearsals.inputs import CannotRehearse, RehearsalInput
from dlqadmin.replays.rehearsals.verdicts import stopped, verdict
from dlqadmin.rest.text import storable

MAX_RECORDS = 20
KEPT = timedelta(days=7)
SHOWN_CHARACTERS = 64 * 1024
ALL_S = 50.0  # with the last connector's 20 s, and 12 s for its put, results arrive before the rehearsal counts as lost
LATE = "Not rehearsed: other connectors used up the time of this rehearsal."


def create(author: User, wanted: Mapping[str, Any], now: datetime) -> Rehearsal:
    """Store a request for a rehearsal, and delete the author's old rehearsals.

    `wanted` is `{"dead_letters": [...], "draft"}`, `{"bulk", "sample"}` or `{"source", "value"}`. Rehearsals of source
    records are kept, because they contain the targets of their drafts.
    """
    old = Rehearsal.objects.filter(author=author, created_at__lt=now - KEPT)
    old.exclude(wanted__has_key="source").delete()
    return Rehearsal.objects.create(author=author, wanted=dict(wanted), created_at=now)


def perform(pk: int, limits: sandboxed_run.RunLimits = sandboxed_run.RunLimits()) -> None:  # noqa: B008, frozen
    """Run a rehearsal and store its results, unless this was done already."""
    rehearsal = Rehearsal.objects.select_related("author").filter(pk=pk, done_at=None).first()
    if rehearsal is None:
        return
    try:
        of_source = "source" in rehearsal.wanted
        rows = [corrected_source_records.rehearse(rehearsal, limits)] if of_source else _rehearse(rehearsal, limits)
    except CannotRehearse as reason:
        rows, rehearsal.trouble = [], str(reason)
    with transaction.atomic():
        kept = erased_records.lock_unerased(row.dead_letter.id for row in rows)
        rows = [row if row.dead_letter.id in kept else without_content(row) for row in rows]
        rehearsal.result, rehearsal.done_at = storable(msgspec.to_builtins(rows)), timezone.now()
        rehearsal.save(update_fields=["result", "trouble", "done_at"])


def _rehearse(rehearsal: Rehearsal, limits: sandboxed_run.RunLimits) -> list[RehearsedDocument]:
    """Return a result for each record, in the order of the request."""
    results: dict[int, RehearsedDocument] = {}
    by_connector: dict[str, list[RehearsalInput]] = {}
    letters = _letters(rehearsal)
    for row, fix in letters:
        try:
            one = inputs.asked(row, fix)
        except CannotRehearse as reason:
            results[row.pk] = hindered(row, str(reason))
        else:
            by_connector.setdefault(row.connector, []).append(one)
    ends = time.monotonic() + ALL_S
    for connector, some in by_connector.items():
        if time.monotonic() > ends:
            results |= {one.row.pk: hindered(one.row, LATE) for one in some}
            continue
        found = _of_one(rehearsal.author, connector, some, limits)
        results |= {one.row.pk: result for one, result in zip(some, found, strict=True)}
    return [results[row.pk] for row, _ in letters]


def _letters(rehearsal: Rehearsal) -> list[tuple[DeadLetter, Fix | None]]:
    """Return the dead letters, each with the author's draft if it is to be used.

    Raises CannotRehearse if there are none.
    """
    wanted, rows = rehearsal.wanted, DeadLetter.objects.select_related("body", "fingerprint")
    if "bulk" in wanted:
        drafts = Fix.objects.filter(bulk_id=wanted["bulk"], author=rehearsal.author).order_by("dead_letter_id")
        sample = BulkFix.objects.values_list("sample", flat=True).filter(pk=wanted["bulk"]).first() or []
        looked_at = drafts.filter(dead_letter_id__in=sample)[: wanted["sample"]]
        chosen = {fix.dead_letter_id: fix for fix in looked_at or drafts[: wanted["sample"]]}
        if not chosen:
            raise CannotRehearse("You have no drafts of this bulk fix to rehearse.")
        ids: Sequence[int] = list(chosen)
    else:
        ids = wanted["dead_letters"]
        mine = Fix.objects.filter(author=rehearsal.author, dead_letter_id__in=ids) if wanted["draft"] else ()
        chosen = {fix.dead_letter_id: fix for fix in mine}
    found = rows.in_bulk(ids)
    if not found:
        raise CannotRehearse("These dead letters no longer exist.")
    return [(found[pk], chosen.get(pk)) for pk in ids if pk in found]


def _of_one(
    author: User | None, connector: str, some: Sequence[RehearsalInput], limits: sandboxed_run.RunLimits
) -> list[RehearsedDocument]:
    try:
        config = inputs.properties(connector)
    except CannotRehearse as reason:
        return [hindered(one.row, str(reason)) for one in some]
    document = {
        "config": config,
        "worker": inputs.worker_options(some[0].facts.stages, config),
        "records": [inputs.record_document(one) for one in some],
        "shown": SHOWN_CHARACTERS // len(some),
    }
    told = sandboxed_run.run(document, limits)
    if not told.stages or (told.trouble and told.at is None):
        text = f"{connector} can't be rehearsed: {told.trouble}."
        return [hindered(one.row, text) for one in some]
    told, puts = rehearsed_puts.rehearse(author, connector, told)
    return [
        msgspec.structs.replace(_result(number, one, told), put=puts.get(number, msgspec.UNSET))
        for number, one in enumerate(some)
    ]


def _result(number: int, one: RehearsalInput, told: sandboxed_run.Told) -> RehearsedDocument:
    facts = one.facts
    rows = told.records.get(number, {}).get("stages")
    if rows is None:
        if told.at is None or told.at[0] != number:
            return hindered(one.row, "Not rehearsed: the rehearsal ended at another record.")
        found, rows = stopped(told.stages, told.at[1], told.trouble), shown_stages(told, told.at[1])
        return result(one.row, found, told.stages, rows, edited=one.edited)
    found = verdict(told.stages, rows, inputs.failed_stage(facts), facts.index)
    return result(one.row, found, told.stages, rows, edited=one.edited)
