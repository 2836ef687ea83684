"""Claims of jobs: one worker holds a job, and a job that ends its workers is given up.

A worker claims a job with one conditional update. It renews the heartbeat with each part of the work that it stores.
When the heartbeat is older than the lease of the job's kind, another worker can claim the job. From then on, no
conditional update of the former worker matches, because its token is gone.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Generic, TypeVar

from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.db.models.functions import Greatest

from dlqadmin.jobs.models import Job

MAX_TRIES = 3
KILLED = "stopped without an error: its worker may have been killed because it ran out of memory; see the system log"

Row = TypeVar("Row", bound=Job)


def quiet(now: datetime, span: timedelta) -> Q:
    """Match the jobs without a heartbeat for this long.

    A heartbeat as far in the future is of a clock that has been put back since. It would keep others away until then.
    """
    return Q(heartbeat__isnull=True) | Q(heartbeat__lte=now - span) | Q(heartbeat__gt=now + span)


def free(now: datetime, lease: timedelta) -> Q:
    """Match the jobs that no living worker holds."""
    return Q(claim_token="") | quiet(now, lease)


def held(job: Row) -> QuerySet[Row]:
    """Return a query that matches the job while nobody else has claimed it."""
    return type(job)._default_manager.filter(pk=job.pk, claim_token=job.claim_token)


def _nothing(_now: datetime) -> Mapping[str, Any]:
    return {}


def _unnoted(_job: Job, _text: str, _now: datetime) -> None:
    pass


@dataclass(frozen=True, slots=True)
class JobKind(Generic[Row]):
    """The jobs of one table that share a lease and a limit of tries.

    - `unfinished`: matches the jobs that need a worker.
    - `lease`: the time after a heartbeat in which nobody else can claim the job.
    - `give_up(job, why, now)`: ends a job whose tries are used up, or turns it into work with tries of its own. It runs
      in a transaction that has locked the row.
    - `note(job, text, now)`: logs a failed try. The try is the subject of `text`.
    - `begun(now)`: other columns that a claim sets.
    - `related`: relations that a claim loads.
    """

    model: type[Row]
    unfinished: Q
    lease: timedelta
    give_up: Callable[[Row, str, datetime], object]
    note: Callable[[Row, str, datetime], object] = _unnoted
    begun: Callable[[datetime], Mapping[str, Any]] = _nothing
    related: tuple[str, ...] = ()

    def waiting(self, now: datetime) -> QuerySet[Row]:
        """Return the unfinished jobs that nobody works on: a worker died, or a message was lost."""
        return self._unfinished().filter(quiet(now, self.lease))

    def claim(self, pk: int, seen: datetime | None, now: datetime, spared: int = 0) -> Row | None:
        """Claim a job, and count a try.

        Return None if it is finished, or if somebody holds it, or had it since its heartbeat was `seen`. A job whose
        tries are used up is given up instead: it would kill the next worker too. `spared` is the number of tries that
        do not count.
        """
        there = self._unfinished().filter(free(now, self.lease), pk=pk, heartbeat=seen)
        tries = Greatest(F("tries") - spared, 0) + 1
        claimed = {"claim_token": uuid.uuid4().hex, "heartbeat": now, "tries": tries, **self.begun(now)}
        if there.filter(tries__lt=MAX_TRIES + spared).update(**claimed):
            mine = self._unfinished().select_related(*self.related)
            return mine.filter(pk=pk, claim_token=claimed["claim_token"]).first()
        with transaction.atomic():
            # The condition again: meanwhile the job may be free that was not.
            if (lost := there.filter(tries__gte=MAX_TRIES + spared).select_for_update().first()) is not None:
                self._give_up(lost, KILLED, now)
        return None

    def release(self, job: Row) -> None:
        """Let the next worker have the job at once. The try counts as a success."""
        held(job).filter(self.unfinished).update(claim_token="", tries=0)

    def failed(self, job: Row, what: str, now: datetime) -> None:
        """Store that `what` stopped the try. The job is tried again soon, or given up."""
        text = f"stopped with {what}; the worker's log has its stack trace"
        with transaction.atomic():
            lost = held(job).filter(self.unfinished).select_for_update().first()
            if lost is None:
                return
            if lost.tries < MAX_TRIES:
                self.note(lost, text, now)
                held(lost).update(claim_token="", heartbeat=None)
            else:
                self._give_up(lost, text, now)

    def _give_up(self, lost: Row, text: str, now: datetime) -> None:
        self.note(lost, text, now)
        self.give_up(lost, f"The last of {MAX_TRIES} tries {text}.", now)
        # What is unfinished still, is other work than before, such as an undo.
        held(lost).filter(self.unfinished).update(claim_token="", heartbeat=None, tries=0)

    def _unfinished(self) -> QuerySet[Row]:
        return self.model._default_manager.filter(self.unfinished)
