"""Guarantees that hold for jobs of all kinds."""

from __future__ import annotations

import logging
from datetime import timedelta
from typing import Any

import pytest
from django.db import OperationalError as DatabaseAway
from django.utils import timezone
from kombu.exceptions import OperationalError as QueueAway
from rest_framework.test import APIClient

from dlqadmin.jobs import messages, runs
from dlqadmin.jobs.claims import MAX_TRIES, JobKind, held
from tests.dlqadmin.jobs.kinds import KINDS, JobCase, Killed

pytestmark = [pytest.mark.django_db, pytest.mark.sql]


def run(job: JobCase, work: Any) -> bool:
    return runs.run(job.kind, job.pk, job.row.heartbeat, work)


def killed(_: Any) -> bool:
    raise Killed


def mistaken(_: Any) -> bool:
    raise ZeroDivisionError


def away(*_: object) -> bool:
    raise DatabaseAway("server closed the connection unexpectedly")


def test_one_worker_gets_a_job_and_others_wait_for_the_end_of_its_lease(job: JobCase) -> None:
    seen, now = job.row.heartbeat, timezone.now()
    first = job.kind.claim(job.pk, seen, now)
    assert first
    assert not job.kind.claim(job.pk, seen, now)
    assert not job.kind.claim(job.pk, now, now + job.kind.lease - timedelta(seconds=1))
    second = job.kind.claim(job.pk, now, now + job.kind.lease)
    assert second
    assert (held(first).exists(), held(second).exists()) == (False, True)
    job.kind.release(first)
    job.kind.failed(first, "an error", now)
    assert held(second).get().tries == 2


def test_a_job_held_by_a_clock_that_was_put_back_is_taken_over(job: JobCase) -> None:
    now, wrong = timezone.now(), timezone.now() + timedelta(hours=1)
    assert job.kind.claim(job.pk, job.row.heartbeat, wrong)
    assert job.kind.waiting(now).exists()
    assert job.kind.claim(job.pk, wrong, now)


def test_a_message_of_before_another_worker_had_the_job_does_nothing(job: JobCase) -> None:
    seen = job.row.heartbeat
    assert runs.run(job.kind, job.pk, seen, lambda _: True) is True
    assert runs.run(job.kind, job.pk, seen, killed) is False
    assert run(job, lambda _: True) is True


def test_a_job_that_kills_three_workers_is_given_up_and_says_why(job: JobCase, as_operator: APIClient) -> None:
    for tried in range(MAX_TRIES):
        with pytest.raises(Killed):
            run(job, killed)
        assert job.row.tries == tried + 1
        assert not job.kind.waiting(timezone.now()).exists()
        job.pass_lease()
    assert run(job, killed) is False
    assert job.trouble(as_operator, job.pk).startswith(
        "The last of 3 tries stopped without an error: its worker may have been killed"
    )


def test_a_job_that_meets_an_error_is_tried_again_and_given_up(job: JobCase, as_operator: APIClient) -> None:
    for _ in range(MAX_TRIES):
        with pytest.raises(ZeroDivisionError):
            run(job, mistaken)
    assert job.trouble(as_operator, job.pk).startswith(
        "The last of 3 tries stopped with an error; the worker's log has its stack trac"
    )


def test_a_turn_that_ended_well_is_no_failed_try(job: JobCase) -> None:
    for _ in range(MAX_TRIES - 1):
        with pytest.raises(ZeroDivisionError):
            run(job, mistaken)
    assert run(job, lambda _: True)
    assert (job.row.tries, job.row.claim_token) == (0, "")


def test_a_database_that_is_away_costs_no_tries(
    job: JobCase, monkeypatch: pytest.MonkeyPatch, as_operator: APIClient
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(JobKind, "failed", away)
        for _ in range(MAX_TRIES + 1):
            assert run(job, away) is False
            job.pass_lease()
    assert job.row.tries == 1
    for _ in range(MAX_TRIES):  # it answers, and refuses
        assert run(job, away) is False
        job.pass_lease()
    assert job.trouble(as_operator, job.pk).startswith("The last of 3 tries stopped with a database error;")


# The sweep of exports writes them itself.
@pytest.mark.parametrize("job", [name for name in KINDS if name != "export"], indirect=True)
def test_a_job_whose_message_is_lost_waits_for_the_sweep(
    job: JobCase, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    sent: list[Any] = []

    def queue_away(*_: object, **__: object) -> None:
        raise QueueAway("Connection refused")

    with monkeypatch.context() as patched, caplog.at_level(logging.WARNING):
        patched.setattr(job.queued, "apply_async", queue_away)
        messages.enqueue(job.queued, job.kind.model, job.pk)
    assert caplog.messages == [f"{job.row} could not be queued and will be queued again: Connection refused"]
    job.pass_lease()
    monkeypatch.setattr(job.queued, "apply_async", lambda args, retry: sent.append(args))
    job.sweep()
    assert sent == [(job.pk, job.row.heartbeat)]


def test_a_sweep_ends_at_the_first_message_that_cannot_be_sent(
    job: JobCase, operator: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def queue_away(*_: object, **__: object) -> None:
        raise QueueAway("Connection refused")

    job.make(operator)
    monkeypatch.setattr(job.queued, "apply_async", queue_away)
    with caplog.at_level(logging.WARNING):
        messages.sweep(job.queued, job.kind.model.objects.all())
    assert len(caplog.messages) == 1
