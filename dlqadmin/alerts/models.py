"""The tables of alert rules, firings and the messages that wait for their time."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q

from dlqadmin.notifications.models import Channel
from dlqadmin.teams.managers import InReach
from dlqadmin.teams.models import Team


class AlertRule(models.Model):
    """Conditions about dead letters, and the channels that are told when they hold.

    - `team`: the rule counts only what this team owns. Null: everything, and only global readers see the rule.
    - `match_all`: all conditions must hold for a subject; otherwise one is enough.
    - `conditions`: see `conditions.CONDITIONS`. `query`: see `rule_filters`.
    - `interval_s`: a subject has at most one message in this time. With `digest`, the rule has.
    - `quiet`: see `quiet_hours.QuietHours`; {} for none.
    - `version` grows with each change. `since` and `from_group` are the time and the highest group id of the last
      change of what the rule looks for: events from before it are not told.
    - `digested_at`: the time of the last digest.
    - `samples`: messages about a group show records, in channels that may have samples.
    """

    team = models.ForeignKey(Team, null=True, blank=True, on_delete=models.CASCADE, related_name="+")
    name = models.CharField(max_length=100)
    match_all = models.BooleanField(default=False)
    conditions = models.JSONField(default=list)
    query = models.TextField(blank=True)
    interval_s = models.IntegerField(default=3600)
    digest = models.BooleanField(default=False)
    quiet = models.JSONField(default=dict)
    tell_resolved = models.BooleanField(default=True)
    samples = models.BooleanField(default=False, db_default=False)
    escalate_after_s = models.IntegerField(null=True, blank=True)
    escalate_to = models.ForeignKey(Channel, null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    muted_until = models.DateTimeField(null=True, blank=True)
    version = models.IntegerField(default=1)
    since = models.DateTimeField()
    from_group = models.BigIntegerField(default=0)
    digested_at = models.DateTimeField(null=True, blank=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()
    idempotency_key = models.CharField(max_length=100, null=True, blank=True, unique=True)
    request_digest = models.CharField(max_length=64, blank=True)  # SHA-256 of the request body that came with the key

    objects = InReach["AlertRule"].by(lambda reach: Q(team_id__in=reach.teams or ()))

    def __str__(self) -> str:
        return self.name


class RuleTell(models.Model):
    """A channel that a rule tells. `held`: not in quiet hours, but in one digest at their end."""

    rule = models.ForeignKey(AlertRule, on_delete=models.CASCADE, related_name="tells")
    channel = models.ForeignKey(Channel, on_delete=models.PROTECT, related_name="+")
    held = models.BooleanField(default=False)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["rule", "channel"], name="rule_tell_once")]

    def __str__(self) -> str:
        return f"{self.rule_id} tells {self.channel_id}"


class FiringState(models.TextChoices):
    """The state of a firing. An acknowledged firing still lasts."""

    FIRING = "firing"
    ACKNOWLEDGED = "acknowledged"
    RESOLVED = "resolved"


class AlertFiring(models.Model):
    """One occurrence of a rule for one subject, such as a group. A rule has at most one active firing for a subject.

    - `condition`: the condition that opened it. `event` distinguishes events of one subject.
    - `told_at`: when the subject last had a message, also of an earlier firing. `tellings`: messages of this firing.
    - `escalate_at`: when the escalation channel is told unless somebody acknowledges.
    - `rule` is null, and `rule_name` remains, after the rule was deleted.
    """

    rule = models.ForeignKey(AlertRule, null=True, on_delete=models.SET_NULL, related_name="firings")
    rule_name = models.CharField(max_length=100)
    team = models.ForeignKey(Team, null=True, blank=True, on_delete=models.CASCADE, related_name="+")
    condition = models.CharField(max_length=30)
    subject_kind = models.CharField(max_length=20)
    subject_key = models.CharField(max_length=330)
    title = models.CharField(max_length=300)
    event = models.CharField(max_length=40, blank=True)
    facts = models.JSONField(default=dict)
    href = models.CharField(max_length=500, blank=True)
    state = models.CharField(max_length=12, choices=FiringState, default=FiringState.FIRING)
    started_at = models.DateTimeField()
    last_seen = models.DateTimeField()
    ended_at = models.DateTimeField(null=True, blank=True)
    acknowledged_by = models.CharField(max_length=150, blank=True)
    acknowledged_at = models.DateTimeField(null=True, blank=True)
    snoozed_until = models.DateTimeField(null=True, blank=True)
    told_at = models.DateTimeField(null=True, blank=True)
    tellings = models.IntegerField(default=0)
    escalate_at = models.DateTimeField(null=True, blank=True)
    escalated_at = models.DateTimeField(null=True, blank=True)

    objects = InReach["AlertFiring"].by(lambda reach: Q(team_id__in=reach.teams or ()))

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["rule", "subject_kind", "subject_key"], condition=Q(ended_at=None), name="firing_once_active"
            )
        ]
        indexes = [
            models.Index(fields=["rule", "subject_key", "started_at"], name="firing_by_subject"),
            models.Index(fields=["started_at", "id"], name="firing_by_time"),
            models.Index(
                fields=["escalate_at"], condition=Q(escalated_at=None, ended_at=None), name="firing_escalates"
            ),
        ]

    def __str__(self) -> str:
        return f"alert {self.pk}"


class AlertNotice(models.Model):
    """A message about a firing that a channel gets at `due_at`. It is deleted when its delivery is queued.

    `apart`: it is a message of its own. The others that are due for a channel are one digest.
    """

    firing = models.ForeignKey(AlertFiring, on_delete=models.CASCADE, related_name="notices")
    channel = models.ForeignKey(Channel, on_delete=models.CASCADE, related_name="+")
    kind = models.CharField(max_length=12)
    telling = models.IntegerField(default=0)
    apart = models.BooleanField(default=True)
    at = models.DateTimeField()
    due_at = models.DateTimeField()

    class Meta:
        indexes = [models.Index(fields=["due_at"], name="notice_due")]

    def __str__(self) -> str:
        return f"{self.kind} of {self.firing_id}"


class EvaluationMark(models.Model):
    """The single row that says how far evaluation has come.

    - `turn` grows with each evaluation, guarded by its former value: of two workers, one evaluates.
    - `group_ids`: the highest group id of each of the last evaluations. Transactions may commit ids out of order, so
      evaluation looks again at the groups behind the oldest of them.
    """

    turn = models.BigIntegerField(default=0)
    ticked_at = models.DateTimeField(null=True, blank=True)
    group_ids = models.JSONField(default=list)

    def __str__(self) -> str:
        return f"turn {self.turn}"
