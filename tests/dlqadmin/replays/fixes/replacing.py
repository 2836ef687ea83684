"""Bulk fixes that replace drafts, run by workers that are killed."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.utils import timezone

from dlqadmin.deadletters.models import DeadLetter
from dlqadmin.replays.fixes import bulk_fixes, record_batches
from dlqadmin.replays.fixes.previews import BulkFixRequest
from dlqadmin.replays.models import BulkFix, Fix
from dlqadmin.replays.selections import frozen_selections
from dlqadmin.rest.idempotency import RequestKey

MINE = b'{"mine":true}'
TOO_MUCH = '(reduce range(23) as $i ("x"; . + .))'


class Killed(BaseException):
    """The worker was killed."""


def adds(number: int = 1) -> str:
    """A patch, which needs no process of jq."""
    return json.dumps([{"op": "add", "path": "/x", "value": number}])


def started(author: User, program: str, *, replace: bool = True) -> BulkFix:
    """Begin a bulk fix by a patch, or else by jq."""
    kind = "patch" if program.startswith("[") else "jq"
    chosen = frozen_selections.by_ids(
        list(DeadLetter.objects.values_list("pk", flat=True)), author, RequestKey(), timezone.now()
    )
    return bulk_fixes.start(
        frozen_selections.rows(chosen),
        chosen,
        BulkFixRequest(kind, program, replace=replace),
        author,
        RequestKey(),
        timezone.now(),
    )


def run(made: BulkFix, clock: Callable[[], datetime] = timezone.now) -> None:
    """Do all slices, without a claim."""
    made.refresh_from_db()
    while made.status in bulk_fixes.UNDER_WAY and bulk_fixes.go_on(made, frozen_selections.rows, clock):
        made.refresh_from_db()
    made.refresh_from_db()


def killed(made: BulkFix, when: Callable[[BulkFix], bool]) -> None:
    """Run it until this is so."""

    def clock() -> datetime:
        if when(BulkFix.objects.get(pk=made.pk)):
            raise Killed
        return timezone.now()

    with pytest.raises(Killed):
        run(made, clock)
    made.refresh_from_db()


def in_first_round(made: BulkFix) -> bool:
    return made.progress > 0


def in_second_round(made: BulkFix) -> bool:
    return made.progress > made.selection.watermark


def unseen(rows: list[DeadLetter]) -> DeadLetter:
    """A record of the second slice that is not in the sample."""
    chosen = record_batches.sample(DeadLetter.objects.all())
    return next(row for row in reversed(rows) if row.pk not in chosen and row.offset > record_batches.AT_ONCE)


def stand(fixes: list[Fix]) -> bool:
    """Are they as they were, bytes, author and times?"""
    as_it_is = Fix.objects.in_bulk([fix.pk for fix in fixes])
    return [as_it_was(fix) for fix in fixes] == [as_it_was(as_it_is[fix.pk]) for fix in fixes if fix.pk in as_it_is]


def as_it_was(fix: Fix) -> tuple[Any, ...]:
    bytes_of = [part if part is None else bytes(part) for part in (fix.key, fix.value, fix.headers)]
    return fix.author_id, fix.dead_letter_id, *bytes_of, fix.digest, fix.bulk_id, fix.created_at, fix.updated_at


def killed_at(number: int, act: Callable[[], object]) -> bool:
    """Act until so many statements were sent to the database, and no further; was there one more?"""
    sent = 0

    def count(execute: Callable[..., Any], *rest: Any) -> Any:
        nonlocal sent
        sent += 1
        if sent == number:
            raise Killed
        return execute(*rest)

    with connection.execute_wrapper(count):
        try:
            act()
        except Killed:
            return True
    return False
