"""Rules that decide whether a plan needs a second person's approval, and whether it has one.

An approval is for one plan digest, so a changed plan needs a new one.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from django.conf import settings
from django.contrib.auth.models import User
from django.db.models import Q, Sum
from django.utils import timezone

from dlqadmin.replays.models import ItemCount, ItemState, Replay, ReplayStatus
from dlqadmin.replays.plans.documents import ApprovalDocument
from dlqadmin.replays.plans.options import options_of
from dlqadmin.rest.text import counted
from dlqadmin.rest.times import iso_or_none
from dlqadmin.teams.reach import EVERYTHING, reaching


def needed(to_send: int, elsewhere: int, people: Iterable[User | None], now: datetime, besides: int = 0) -> list[str]:
    """Return why the plan needs a second person's approval, as clauses. Empty if it does not.

    `elsewhere` is the number of records that would go to another topic or cluster than their origin. `people` plan or
    run the replay. `besides` is the replay's own id.
    """
    if not to_send:
        return []
    found = []
    if elsewhere and settings.APPROVAL_FOR_OTHER_TARGETS:
        found.append(f"{counted(elsewhere, 'record')} would go to another topic or cluster than the origin")
    above = settings.APPROVAL_ABOVE
    for person in dict.fromkeys(people) if above > 0 else ():
        before = 0 if person is None else sent_alone(person, now, besides)
        if before + to_send > above:
            found.append(_many(person, before, to_send))
            break
    return found


def reasons(replay: Replay, now: datetime, runner: User | None = None) -> list[str]:
    """Return why a second person must approve the plan before `runner` runs it, as clauses."""
    to_send = replay.plan.get("to_send", 0)
    # Plans of older versions do not have this count.
    elsewhere = replay.plan.get("elsewhere", 0 if options_of(replay).home else to_send)
    people = [replay.created_by] if runner is None else [runner, replay.created_by]
    return needed(to_send, elsewhere, [one for one in people if one is not None] or [None], now, replay.pk)


@reaching(EVERYTHING)  # all that the person sent alone counts, for every team
def refusal(replay: Replay, runner: User, now: datetime) -> str | None:
    """Return why `runner` can't run the plan without approval, as a sentence. None if they can."""
    if approved(replay) or not (why := reasons(replay, now, runner)):
        return None
    return f"{replay} needs the approval of a second person: {'; '.join(why)}."


def approved(replay: Replay) -> bool:
    """Return whether somebody approved exactly this plan."""
    is_own = replay.approved_by_id is not None and replay.approved_by_id in replay.authors
    return bool(replay.approved_digest) and replay.approved_digest == replay.plan.get("digest") and not is_own


def sent_alone(person: User, now: datetime, besides: int = 0) -> int:
    """Return how many records the person sent in the window without approval.

    Records that are being sent count too. Replays that the person planned or started count in full, as long as one of
    their records may have been sent in the window.
    """
    since = now - timedelta(hours=settings.APPROVAL_WINDOW_HOURS)
    theirs = Replay.objects.filter(Q(started_by=person) | Q(created_by=person), started_at__isnull=False)
    lately = theirs.exclude(pk=besides).filter(
        Q(started_at__gte=since)
        | Q(sent_at__gte=since)
        | Q(status__in=(ReplayStatus.RUNNING, ReplayStatus.PAUSED))
        | Q(status=ReplayStatus.CANCELLED, done_at__gte=since)
    )
    found = lately.values_list("pk", "approved_digest", "plan__digest")
    alone = [pk for pk, agreed, digest in found if not agreed or agreed != digest]
    sent = ItemCount.objects.filter(replay__in=alone).exclude(state=ItemState.SKIPPED)
    total: int = sent.aggregate(n=Sum("n", default=0))["n"]
    return total


def hold(replay: Replay, runner: User) -> None:
    """Lock the user rows, so that nobody else starts a replay in their names until the commit.

    Otherwise two small replays that are started at the same time would each be below the threshold.
    """
    people = {pk for pk in (runner.pk, replay.created_by_id) if pk is not None}
    # Without NO KEY, every audit entry that references the person would wait for this lock.
    list(User.objects.select_for_update(no_key=True).filter(pk__in=people).order_by("pk").values_list("pk"))


def barred(replay: Replay, actor: User) -> str:
    """Return why this person may not approve the plan, as a sentence. "" if they may."""
    if replay.asked_by_id == actor.pk:
        return "You asked for the approval, so another person must approve."
    if replay.created_by_id == actor.pk:
        return "You made the plan, so another person must approve."
    if actor.pk in replay.authors:
        return "You changed the plan or wrote a draft that it sends, so another person must approve."
    return ""


def approval_document(replay: Replay, now: datetime | None = None) -> ApprovalDocument:
    """Return who asked for and who gave approval, and whether both are for the current plan.

    A list of replays does not load the plans, so it has no reasons.
    """
    is_plan = replay.status == ReplayStatus.PLANNED and "plan" not in replay.get_deferred_fields()
    why = reasons(replay, now or timezone.now()) if is_plan else []
    return ApprovalDocument(
        needed=bool(why) or approved(replay),
        reasons=why,
        barred=_barred(replay) if is_plan and (why or replay.asked_digest) else [],
        above=settings.APPROVAL_ABOVE,
        asked_by=replay.asked_by.get_username() if replay.asked_by else None,
        asked_at=iso_or_none(replay.asked_at),
        approved_by=replay.approved_by.get_username() if replay.approved_by else None,
        approved_at=iso_or_none(replay.approved_at),
        void=bool(replay.asked_digest) and replay.asked_digest != replay.plan.get("digest", ""),
        approved=approved(replay),
        rate=replay.plan.get("rate", replay.rate) if approved(replay) else None,
    )


def _many(person: User | None, before: int, to_send: int) -> str:
    above, hours = settings.APPROVAL_ABOVE, settings.APPROVAL_WINDOW_HOURS
    if not before or person is None:
        return f"it sends {counted(to_send, 'record')}, more than {above}"
    total = f"{person.get_username()} would send {counted(before + to_send, 'record')} within {hours} hours"
    return f"{total}, more than {above}: {before} before and {to_send} now"


def _barred(replay: Replay) -> list[str]:
    ids = {pk for pk in (replay.created_by_id, replay.asked_by_id, *replay.authors) if pk is not None}
    return sorted(one.get_username() for one in User.objects.filter(pk__in=ids))
