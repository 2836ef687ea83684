"""One unfinished job of each kind, and its API document."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from celery import Task
from django.contrib.auth.models import User
from django.utils import timezone
from rest_framework.test import APIClient

from dlqadmin.deadletters.index.word_index import pack
from dlqadmin.erasures.erasure_jobs import ERASURES
from dlqadmin.erasures.models import Erasure
from dlqadmin.erasures.tasks import erase, sweep_erasures
from dlqadmin.exports.file_writer import EXPORTS
from dlqadmin.exports.models import Export
from dlqadmin.exports.tasks import write_exports
from dlqadmin.jobs.claims import JobKind
from dlqadmin.jobs.models import Job
from dlqadmin.notifications.delivery_tries import DELIVERIES
from dlqadmin.notifications.models import ChannelDelivery
from dlqadmin.notifications.tasks import deliver, sweep_notifications
from dlqadmin.replays import tasks
from dlqadmin.replays.disposals import disposal_jobs
from dlqadmin.replays.disposals.disposal_jobs import DISPOSALS
from dlqadmin.replays.fixes.bulk_fixes import BULK_FIXES
from dlqadmin.replays.plans import planner
from dlqadmin.replays.plans.planner import PLANS
from dlqadmin.replays.selections import frozen_selections
from dlqadmin.rest.idempotency import RequestKey
from tests.dlqadmin.notifications.sending import made, queued
from tests.dlqadmin.replays.asking import WEEK, get
from tests.dlqadmin.replays.fixes.replacing import adds, started


class Killed(BaseException):
    """The worker was killed."""


@dataclass
class KindCase:
    """A kind of jobs: how a test makes one, and where its API document shows why it was given up."""

    kind: JobKind[Any]
    make: Callable[[User], Job]
    sweep: Task[..., None]
    queued: Task[..., None]
    trouble: Callable[[APIClient, int], str]


@dataclass
class JobCase(KindCase):
    """A job of the kind."""

    pk: int

    @property
    def row(self) -> Any:
        return self.kind.model.objects.get(pk=self.pk)

    def pass_lease(self) -> None:
        """Age the heartbeat, as if the lease had passed."""
        self.kind.model.objects.filter(pk=self.pk).update(heartbeat=timezone.now() - self.kind.lease)


def make_plan(author: User) -> Job:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(planner, "INLINE", 0)
        chosen = frozen_selections.by_filter(WEEK, author, RequestKey(), timezone.now())
        return planner.create(chosen, planner.Options(), "", author, RequestKey(), timezone.now())


def make_bulk_fix(author: User) -> Job:
    return started(author, adds())


def make_disposal(author: User) -> Job:
    chosen = frozen_selections.by_filter(WEEK, author, RequestKey(), timezone.now())
    found = frozen_selections.rows(chosen)
    return disposal_jobs.dispose(chosen, "parked", "why", author, RequestKey(), timezone.now(), found)


def make_export(author: User) -> Job:
    return Export.objects.create(
        created_by=author, created_at=timezone.now(), format="ndjson", filters={}, watermark=10
    )


def make_delivery(author: User) -> Job:
    number = ChannelDelivery.objects.count()
    return queued(made("https://example.com/hook", name=f"pager {number}"), f"key {number}")


def make_erasure(author: User) -> Job:
    return Erasure.objects.create(
        actor=author, actor_name=author.get_username(), reason="why", title="records", ids=pack([1]), count=1,
        watermark=10, created_at=timezone.now(),
    )  # fmt: skip


KINDS = {
    "plan": KindCase(
        PLANS, make_plan, tasks.sweep_plans, tasks.plan_replay,
        lambda client, pk: get(client, f"replays/{pk}")["plan"]["checks"][0]["text"],
    ),
    "bulk fix": KindCase(
        BULK_FIXES, make_bulk_fix, tasks.sweep_bulk_fixes, tasks.run_bulk_fix,
        lambda client, pk: get(client, f"bulk-fixes/{pk}")["trouble"],
    ),
    "disposal": KindCase(
        DISPOSALS, make_disposal, tasks.sweep_disposals, tasks.dispose,
        lambda client, pk: get(client, f"disposals/{pk}")["trouble"],
    ),
    "export": KindCase(
        EXPORTS, make_export, write_exports, write_exports,
        lambda client, pk: get(client, f"exports/{pk}")["trouble"],
    ),
    "erasure": KindCase(
        ERASURES, make_erasure, sweep_erasures, erase,
        lambda _, pk: Erasure.objects.get(pk=pk).trouble,  # its document is for administrators
    ),
    "delivery": KindCase(
        DELIVERIES, make_delivery, sweep_notifications, deliver,
        lambda client, pk: next(one["result"] for one in get(client, "deliveries")["results"] if one["id"] == pk),
    ),
}  # fmt: skip
