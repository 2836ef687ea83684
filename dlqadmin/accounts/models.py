"""API tokens, stored so that a copy of the database does not contain a usable token."""

from django.conf import settings
from django.db import models


class TokenEnd(models.TextChoices):
    """The reason why a token ended before its expiry."""

    REVOKED = "revoked", "revoked"
    PASSWORD_CHANGED = "password_changed", "password changed"  # a reason, not a password
    DEACTIVATED = "deactivated", "owner deactivated"


class ApiToken(models.Model):
    """A secret that lets a program act as its owner, until it expires or ends.

    The scopes limit it to some of the owner's rights.
    """

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="api_tokens")
    name = models.CharField(max_length=100)
    digest = models.CharField(max_length=64, unique=True)  # SHA-256 of the secret
    scopes = models.JSONField(default=list)  # see SCOPES in dlqadmin.audit.permissions
    # Null is every team that the owner reaches. With its team a token is deleted: without one it would reach more.
    team = models.ForeignKey("teams.Team", null=True, on_delete=models.CASCADE, related_name="api_tokens")
    password_digest = models.CharField(max_length=64)  # SHA-256 of the owner's stored password hash
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    last_used_at = models.DateTimeField(null=True)
    refused_at = models.DateTimeField(null=True)  # the last refusal in the audit trail
    ended_at = models.DateTimeField(null=True)
    end = models.CharField(max_length=20, blank=True, choices=TokenEnd.choices)

    class Meta:
        verbose_name = "API token"
        verbose_name_plural = "API tokens"
        indexes = [models.Index(fields=["owner", "-id"], name="api_token_by_owner")]

    def __str__(self) -> str:
        return f"{self.name} of {self.owner}"


class LastSeen(models.Model):
    """The last activity of a person in a session, to the minute."""

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, primary_key=True, on_delete=models.CASCADE, related_name="last_seen"
    )
    at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.user} at {self.at}"
