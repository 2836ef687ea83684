"""Teams, and the roles that people and groups of people have in them."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q


class TeamRoleName(models.TextChoices):
    """The roles in a team. Each covers the permissions of the global role of this name, for the team's records.

    ADMIN has all permissions, and also decides who is in the team.
    """

    VIEWER = "viewer"
    PAYLOAD_READER = "payload reader"
    OPERATOR = "operator"
    APPROVER = "approver"
    ADMIN = "admin"


class Team(models.Model):
    """A team, and what it owns: patterns of topics and of connectors.

    `*` in a pattern stands for any text. A pattern `cluster/name` holds for one cluster, any other for all.
    """

    name = models.CharField(max_length=64, unique=True)
    topics = models.JSONField(default=list)
    connectors = models.JSONField(default=list)
    created_at = models.DateTimeField()

    class Meta:
        ordering = ("name",)

    def __str__(self) -> str:
        return self.name


class TeamRole(models.Model):
    """A role of one person, or of all members of a group of people, in one team."""

    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="roles")
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.CASCADE, related_name="team_roles"
    )
    group = models.ForeignKey("auth.Group", null=True, blank=True, on_delete=models.CASCADE, related_name="team_roles")
    role = models.CharField(max_length=20, choices=TeamRoleName)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(user__isnull=False, group__isnull=True) | Q(user__isnull=True, group__isnull=False),
                name="team_role_holder",
            ),
            models.UniqueConstraint(
                fields=["team", "user", "role"], condition=Q(user__isnull=False), name="team_role_of_user"
            ),
            models.UniqueConstraint(
                fields=["team", "group", "role"], condition=Q(group__isnull=False), name="team_role_of_group"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.user or self.group}: {self.role} of {self.team}"
