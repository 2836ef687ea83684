"""Deletion of old deliveries. Their dedupe keys stay, so that none is queued again."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db import transaction

from dlqadmin.notifications.models import ChannelDelivery, DeliveryState, UsedKey

KEPT = timedelta(days=30)
BATCH = 1000


def prune(now: datetime) -> None:
    """Delete the deliveries that ended more than 30 days ago."""
    while _prune_batch(now - KEPT) == BATCH:
        pass


def _prune_batch(before: datetime) -> int:
    # `not_before` of an ended delivery is the time of its last try.
    ended = ChannelDelivery.objects.exclude(state=DeliveryState.QUEUED).filter(not_before__lt=before)
    rows = list(ended.order_by("pk").values_list("pk", "dedupe")[:BATCH])
    with transaction.atomic():
        UsedKey.objects.bulk_create([UsedKey(dedupe=key) for _, key in rows], ignore_conflicts=True)
        ChannelDelivery.objects.filter(pk__in=[pk for pk, _ in rows]).exclude(state=DeliveryState.QUEUED).delete()
    return len(rows)
