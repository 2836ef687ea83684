"""Dismissals of findings, and signs of life of the dashboard's background processes."""

from django.conf import settings
from django.db import models
from django.db.models import Q

from dlqadmin.overview.dismissal_reach import of_findings
from dlqadmin.teams.managers import InReach


class DismissalEnd(models.TextChoices):
    """The reason why a dismissal ended."""

    UNDONE = "undone"
    OVER = "over"
    WORSE = "worse"
    CHANGED = "changed"


class Dismissal(models.Model):
    """A person's decision not to list a finding for a time. It holds for all users.

    `finding` is the id of the finding. `until` is null if the dismissal holds until the finding changes.
    `count`, `level` and `failed_at` are the finding's measures when it was dismissed. The dismissal ends
    early when the finding becomes worse than they say. `object_type` and `object_id` are what the finding is about;
    both are empty for parts of the system, and in rows of earlier versions.
    """

    finding = models.CharField(max_length=32)
    object_type = models.CharField(max_length=20, blank=True)
    object_id = models.CharField(max_length=249, blank=True)
    kind = models.CharField(max_length=30)
    title = models.CharField(max_length=500)
    reason = models.TextField()
    user = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    actor = models.CharField(max_length=150)
    at = models.DateTimeField()
    until = models.DateTimeField(null=True)
    count = models.BigIntegerField(default=0)
    level = models.IntegerField(default=0)
    failed_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    ended_by = models.CharField(max_length=150, blank=True)
    ended_why = models.CharField(max_length=10, choices=DismissalEnd, blank=True)

    objects = InReach["Dismissal"].by(of_findings)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["finding"], condition=Q(ended_at=None), name="dismissal_once_active")
        ]
        indexes = [models.Index(fields=["ended_at"], name="dismissal_ended")]

    def __str__(self) -> str:
        return f"{self.title} dismissed by {self.actor}"


class ProcessHeartbeat(models.Model):
    """The last sign of life of a Celery worker, or of Celery beat, which serves no queue."""

    name = models.CharField(max_length=200, unique=True)
    queues = models.JSONField(default=list)
    at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.name} at {self.at:%Y-%m-%d %H:%M:%S}"
