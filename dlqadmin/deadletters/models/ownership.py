"""Rules about the owners of groups, mentions of people in notes, and links to issue trackers."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.utils import timezone

from dlqadmin.deadletters.models import reach
from dlqadmin.deadletters.models.groups import Group, GroupActivity
from dlqadmin.teams.managers import InReach


class OwnershipRule(models.Model):
    """A rule that gives new groups an owner: a person or a team. The first rule that matches counts.

    `topic`, `connector` and `exception` are patterns, in which `*` stands for any text. All must match; an empty one
    matches everything.
    """

    position = models.IntegerField()
    topic = models.CharField(max_length=249, blank=True)
    connector = models.CharField(max_length=200, blank=True)
    exception = models.CharField(max_length=300, blank=True)
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, null=True, blank=True, related_name="+"
    )
    team = models.ForeignKey("teams.Team", on_delete=models.CASCADE, null=True, blank=True, related_name="+")

    class Meta:
        ordering = ("position", "id")
        constraints = [
            models.CheckConstraint(
                condition=models.Q(owner__isnull=False, team__isnull=True)
                | models.Q(owner__isnull=True, team__isnull=False),
                name="ownership_rule_owner",
            )
        ]

    def __str__(self) -> str:
        return f"{self.topic or '*'} to {self.owner or self.team}"


class Mention(models.Model):
    """A note that names a person with `@`. `seen_at` is null until the person has seen it."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="mentions")
    note = models.ForeignKey(GroupActivity, on_delete=models.CASCADE, related_name="mentions")
    seen_at = models.DateTimeField(null=True, blank=True)

    objects = InReach["Mention"].by(lambda _: models.Q(note__group_id__in=reach.groups_in_reach()))

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user", "note"], name="mention_once")]

    def __str__(self) -> str:
        return f"{self.user} in {self.note_id}"


class IssueTracker(models.Model):
    """An issue tracker. `template` is the address of its form for a new issue.

    The template may contain `{title}`, `{message}`, `{group}`, `{topic}`, `{connector}` and `{link}`. `channel` is a
    webhook that creates issues, if there is one.
    """

    name = models.CharField(max_length=60, unique=True)
    template = models.CharField(max_length=1000)
    channel = models.ForeignKey(
        "notifications.Channel", on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    actor = models.CharField(max_length=150)
    at = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return self.name


class GroupIssue(models.Model):
    """A link from a group to an issue in a tracker."""

    group = models.ForeignKey(Group, on_delete=models.CASCADE, related_name="issues")
    name = models.CharField(max_length=100)
    url = models.CharField(max_length=1000)
    actor = models.CharField(max_length=150)
    at = models.DateTimeField(default=timezone.now)

    objects = InReach["GroupIssue"].by(lambda _: models.Q(group_id__in=reach.groups_in_reach()))

    class Meta:
        constraints = [models.UniqueConstraint(fields=["group", "url"], name="group_issue_once")]

    def __str__(self) -> str:
        return self.name


class IssueRequest(models.Model):
    """A request to a tracker's webhook for an issue of a group. `issue` is null until the tracker has answered."""

    group = models.ForeignKey(Group, on_delete=models.CASCADE, related_name="+")
    tracker = models.ForeignKey(IssueTracker, on_delete=models.CASCADE, related_name="+")
    issue = models.ForeignKey(GroupIssue, on_delete=models.CASCADE, null=True, blank=True, related_name="+")
    at = models.DateTimeField()
    idempotency_key = models.CharField(max_length=100, null=True, blank=True, unique=True)
    request_digest = models.CharField(max_length=64, blank=True)  # SHA-256 of the body sent with the key

    objects = InReach["IssueRequest"].by(lambda _: models.Q(group_id__in=reach.groups_in_reach()))

    def __str__(self) -> str:
        return f"issue of {self.group_id} in {self.tracker}"
