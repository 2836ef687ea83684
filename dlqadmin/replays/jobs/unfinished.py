"""The records of a replay that still need work, and their selection for the next fix.

A record needs work if it failed again, or if it was not sent, and nobody has replayed or set it aside since. The plan
of a replay is frozen: a new fix for its unsent records needs a new plan. So the rest is cancelled, and both kinds of
records become one selection that continues the replay.
"""

from __future__ import annotations

from datetime import datetime

from django.contrib.auth.models import User
from django.db.models import Count, Q, QuerySet

from dlqadmin.deadletters.models import DeadLetter, ReplayState
from dlqadmin.replays.fixes.file_fixes import MOST_IDS
from dlqadmin.replays.items import item_states
from dlqadmin.replays.jobs import controls
from dlqadmin.replays.jobs.documents import UnfinishedRecords
from dlqadmin.replays.models import Fix, ItemState, Replay, ReplayItem, ReplayStatus, Selection
from dlqadmin.replays.selections import frozen_selections
from dlqadmin.replays.sending.cancellation import CANCELLED
from dlqadmin.rest.idempotency import RequestKey
from dlqadmin.rest.problems import StateConflict

FAILED_AGAIN = "failed_again"
ALL = "all"
CHOICES = (FAILED_AGAIN, ALL)

# Nobody has replayed such a dead letter since, or set it aside.
_OPEN = Q(mark=None) | Q(mark__state=ReplayState.FAILED_AGAIN)


def document(replay: Replay) -> UnfinishedRecords:
    """Return the numbers of unfinished records, and what continues the replay."""
    failed, unsent = _failed_again(replay).count(), _unsent(replay).count()
    continuations = Replay.objects.filter(selection__continues=replay).order_by("pk")
    return UnfinishedRecords(
        failed_again=failed,
        unsent=unsent,
        bulk_fix=_bulk_fix(replay) if failed or unsent else None,
        replays=list(continuations.values_list("pk", flat=True)),
    )


def select(replay: Replay, which: str, reason: str, actor: User, once: RequestKey, now: datetime) -> Selection:
    """Freeze the records that failed again, or all unfinished records, as a selection that continues the replay.

    `ALL` cancels a paused replay first, with this reason. Raises StateConflict if there are no such records, if
    there are too many, or if the replay runs.
    """
    if which == ALL and replay.status == ReplayStatus.RUNNING:
        raise StateConflict(f"{replay} is running. Pause it first, then fix the rest.")
    if which == ALL and replay.status == ReplayStatus.PAUSED:
        controls.cancel(replay, actor, reason or "the rest gets a new fix", now)
    found = _failed_again(replay).values_list("pk", flat=True)
    if which == ALL:
        found = found.union(_unsent(replay).values_list("pk", flat=True))
    ids = list(found[: MOST_IDS + 1])
    if not ids:
        raise StateConflict(f"No record of {replay} is left to fix. Others have replayed them or set them aside since.")
    if len(ids) > MOST_IDS:
        raise StateConflict(
            f"{replay} has more than {MOST_IDS:,} unfinished records, the limit for a selection of this kind. Select "
            "them on the page of their group."
        )
    return frozen_selections.by_ids(ids, actor, once, now, replay)


def _failed_again(replay: Replay) -> QuerySet[DeadLetter]:
    """Return the open dead letters of the records that failed again: their newest ones, as far as they are indexed."""
    failed = ReplayItem.objects.filter(replay=replay, state=ItemState.FAILED_AGAIN)
    newest = Q(pk__in=failed.filter(refailure__isnull=False).values("refailure"))
    same = Q(pk__in=failed.filter(refailure=None).values("dead_letter"))
    return DeadLetter.objects.filter(newest | same).filter(_OPEN)


def _unsent(replay: Replay) -> QuerySet[DeadLetter]:
    """Return the dead letters of items that the replay has not sent yet, or will not send any more."""
    if replay.started_at is None:
        return DeadLetter.objects.none()
    items = ReplayItem.objects.filter(replay=replay)
    waiting = Q(pk__in=items.filter(state__in=item_states.UNSENT).values("dead_letter"))
    skipped = Q(pk__in=items.filter(state=ItemState.SKIPPED, reason=CANCELLED).values("dead_letter"))
    return DeadLetter.objects.filter(waiting | skipped & _OPEN)


def _bulk_fix(replay: Replay) -> int | None:
    """Return the bulk fix that made most of the drafts of unfinished records, for its program."""
    unfinished = ReplayItem.objects.filter(replay=replay).exclude(state=ItemState.PASSED).values("dead_letter")
    drafts = Fix.objects.filter(author=replay.created_by, bulk__isnull=False, dead_letter__in=unfinished)
    most = drafts.values_list("bulk").annotate(n=Count("pk")).order_by("-n", "-bulk").first()
    return None if most is None else most[0]
