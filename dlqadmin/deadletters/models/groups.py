"""Fingerprints, their groups, and the record of people's decisions about groups."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from dlqadmin.deadletters.models import reach
from dlqadmin.teams.managers import InReach


class GroupStatus(models.TextChoices):
    """People's decision about a group."""

    OPEN = "open"
    MUTED = "muted"
    RESOLVED = "resolved"


class Group(models.Model):
    """Dead letters with one fingerprint, or several after a merge: the unit of triage.

    A muted group opens again at `mute_until`, after `mute_count` more events, or at `mute_rate` events an
    hour. If none of these is set, it stays muted. A group that was merged into another one has no
    fingerprints left.
    """

    title = models.CharField(max_length=200)
    status = models.CharField(max_length=10, choices=GroupStatus, default=GroupStatus.OPEN)
    first_seen = models.DateTimeField()
    last_seen = models.DateTimeField()
    resolved_at = models.DateTimeField(null=True, blank=True)
    regressed_at = models.DateTimeField(null=True, blank=True)
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, related_name="owned_groups"
    )

    muted_at = models.DateTimeField(null=True, blank=True)
    mute_until = models.DateTimeField(null=True, blank=True)
    mute_count = models.BigIntegerField(null=True, blank=True)
    mute_rate = models.IntegerField(null=True, blank=True)
    muted_events = models.BigIntegerField(default=0)  # events since it was muted
    merged_into = models.ForeignKey("self", on_delete=models.SET_NULL, null=True, blank=True, related_name="+")

    objects = InReach["Group"].by(lambda _: models.Q(pk__in=reach.groups_in_reach()))

    class Meta:
        indexes = [models.Index(fields=["-last_seen"], name="group_last_seen")]

    def __str__(self) -> str:
        return self.title


class Fingerprint(models.Model):
    """The properties that similar dead letters share. Immutable, except for its link to a group.

    `name`, `reason` and `origin` are those of `fingerprint.ComputedFingerprint`, and empty in version 1.
    """

    digest = models.CharField(max_length=40, unique=True)
    group = models.ForeignKey(Group, on_delete=models.PROTECT, related_name="fingerprints")
    exception_class = models.CharField(max_length=300)
    stage = models.CharField(max_length=40)
    message = models.TextField()
    frame = models.CharField(max_length=300, blank=True)
    name = models.CharField(max_length=300, blank=True, db_default="")
    reason = models.CharField(max_length=300, blank=True, db_default="")
    origin = models.CharField(max_length=249, blank=True, db_default="")
    holes = models.JSONField(default=list)

    objects = InReach["Fingerprint"].by(lambda _: models.Q(pk__in=reach.fingerprints_in_reach()))

    def __str__(self) -> str:
        return self.digest


class GroupActivity(models.Model):
    """An action of a person or the indexer on a group: a note, an assignment, a change of state."""

    group = models.ForeignKey(Group, on_delete=models.CASCADE, related_name="activity")
    at = models.DateTimeField()
    actor = models.CharField(max_length=150)
    kind = models.CharField(max_length=20)
    text = models.TextField()

    objects = InReach["GroupActivity"].by(lambda _: models.Q(group_id__in=reach.groups_in_reach()))

    class Meta:
        indexes = [models.Index(fields=["group", "-at"], name="group_activity_time")]

    def __str__(self) -> str:
        return self.text


class Regrouping(models.Model):
    """One merge or split. It records which fingerprints moved between groups, so that it can be undone."""

    class Kind(models.TextChoices):
        """The kind of regrouping."""

        MERGE = "merge"
        SPLIT = "split"

    kind = models.CharField(max_length=10, choices=Kind)
    at = models.DateTimeField()
    actor = models.CharField(max_length=150)
    reason = models.TextField(blank=True)
    undone_at = models.DateTimeField(null=True, blank=True)

    objects = InReach["Regrouping"].by(lambda _: models.Q(pk__in=reach.regroupings_in_reach()))

    def __str__(self) -> str:
        return f"{self.kind} {self.pk}"


class RegroupingMove(models.Model):
    """The move of one fingerprint from one group to another."""

    regrouping = models.ForeignKey(Regrouping, on_delete=models.CASCADE, related_name="moves")
    fingerprint = models.ForeignKey(Fingerprint, on_delete=models.PROTECT, related_name="+")
    from_group = models.ForeignKey(Group, on_delete=models.PROTECT, related_name="+")
    to_group = models.ForeignKey(Group, on_delete=models.PROTECT, related_name="+")

    objects = InReach["RegroupingMove"].by(lambda _: models.Q(fingerprint_id__in=reach.fingerprints_in_reach()))

    def __str__(self) -> str:
        return f"{self.fingerprint_id}: {self.from_group_id} to {self.to_group_id}"
