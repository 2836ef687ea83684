"""The tables of channels and deliveries."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.utils import timezone

from dlqadmin.jobs.models import Job
from dlqadmin.teams.models import Team


class ChannelKind(models.TextChoices):
    """The service by which a channel sends."""

    WEBHOOK = "webhook"
    EMAIL = "email"
    APPRISE = "apprise"


class Channel(models.Model):
    """A target of messages.

    `target`, `signing_secret` and `former_secret` are encrypted: see `sealed_text`. A webhook is signed with the
    former secret too, until `former_until`. `description` names the kind and the host, and holds no secret.
    `may_have_samples`: an administrator allows masked content of records in its messages.
    """

    name = models.CharField(max_length=100, unique=True)
    kind = models.CharField(max_length=10, choices=ChannelKind)
    target = models.TextField()
    description = models.CharField(max_length=200)
    may_have_samples = models.BooleanField(default=False, db_default=False)
    signing_secret = models.TextField(blank=True)
    former_secret = models.TextField(blank=True)
    former_until = models.DateTimeField(null=True, blank=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    created_at = models.DateTimeField(default=timezone.now)
    last_used_at = models.DateTimeField(null=True, blank=True)
    last_result = models.CharField(max_length=300, blank=True)
    idempotency_key = models.CharField(max_length=100, null=True, blank=True, unique=True)
    request_digest = models.CharField(max_length=64, blank=True)  # HMAC of the body sent with the key

    def __str__(self) -> str:
        return self.name


class DeliveryState(models.TextChoices):
    """The state of a delivery.

    FAILED: the receiver refused it, so another try would not help. GIVEN_UP: no try succeeded in the time for tries.
    """

    QUEUED = "queued"
    DELIVERED = "delivered"
    FAILED = "failed"
    GIVEN_UP = "given_up"


class ChannelDelivery(Job):
    """One message to one channel.

    - `public_id`: the id that receivers see. It stays the same in all tries, so that they can drop repeats.
    - `dedupe`: the same key is queued once.
    - `not_before`: the time of the next try; once it has ended, of its end.
    - `give_up_at`: the delivery is given up if the next try would begin later.
    - `failures`: failed tries in a row, which decide about the pause. `sends`: all tries. `log`: the newest of them.
    - `tries` belongs to the job, and counts claims without a result.
    - `channel` is null, and `channel_name` remains, after the channel was deleted.
    - `team`: the message is about what this team owns, so its people may see it. Null: global readers alone.
    """

    public_id = models.CharField(max_length=40, unique=True)
    channel = models.ForeignKey(Channel, null=True, on_delete=models.SET_NULL, related_name="deliveries")
    channel_name = models.CharField(max_length=100)
    dedupe = models.CharField(max_length=200, unique=True)
    event = models.CharField(max_length=100)
    subject = models.CharField(max_length=200)
    body = models.TextField(blank=True)
    facts = models.JSONField(default=dict)
    link = models.CharField(max_length=1000, blank=True)
    source = models.CharField(max_length=100)
    team = models.ForeignKey(Team, null=True, blank=True, on_delete=models.SET_NULL, related_name="+")
    state = models.CharField(max_length=10, choices=DeliveryState, default=DeliveryState.QUEUED)
    not_before = models.DateTimeField()
    give_up_at = models.DateTimeField()
    failures = models.IntegerField(default=0)
    sends = models.IntegerField(default=0)
    log = models.JSONField(default=list)
    result = models.CharField(max_length=300, blank=True)
    created_at = models.DateTimeField()
    delivered_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        verbose_name_plural = "deliveries"
        indexes = [
            models.Index(fields=["not_before"], condition=models.Q(state="queued"), name="delivery_due"),
            models.Index(fields=["created_at", "id"], name="delivery_by_time"),
            models.Index(fields=["source", "id"], name="delivery_by_source"),
        ]

    def __str__(self) -> str:
        return f"delivery {self.pk}"


class UsedKey(models.Model):
    """The dedupe key of a delivery that was deleted, so that it is never queued again."""

    dedupe = models.CharField(max_length=200, unique=True)

    def __str__(self) -> str:
        return self.dedupe
