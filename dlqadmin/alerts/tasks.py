"""Celery tasks that evaluate alert rules, and delete old firings."""

from __future__ import annotations

import threading

from celery import shared_task
from django.utils import timezone

from dlqadmin.alerts import evaluation

_evaluating = threading.Lock()
_evaluator = evaluation.RuleEvaluator()


@shared_task
def evaluate_alerts() -> None:
    """Evaluate all rules. A process runs at most one evaluation at a time."""
    if not _evaluating.acquire(blocking=False):
        return
    try:
        _evaluator.run(timezone.now())
    finally:
        _evaluating.release()


@shared_task
def prune_alerts() -> None:
    """Delete old firings."""
    evaluation.prune(timezone.now())
