"""Links by which a person gets an account, or sets a new password."""

from __future__ import annotations

from django.conf import settings
from django.db import models


class InvitationEnd(models.TextChoices):
    """The reason why an invitation ended before its expiry."""

    ACCEPTED = "accepted", "accepted"
    REVOKED = "revoked", "revoked"


class Invitation(models.Model):
    """A link that works once, until it expires or ends. The database has only a digest of its secret.

    With an `account`, it sets the password of that account. Otherwise it creates an account with the roles, in the
    team, or for everything if there is none.
    """

    digest = models.CharField(max_length=64, unique=True)  # SHA-256 of the secret
    name = models.CharField(max_length=254)
    team = models.ForeignKey("teams.Team", null=True, on_delete=models.CASCADE, related_name="invitations")
    roles = models.JSONField(default=list)
    account = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.CASCADE, related_name="password_links"
    )
    # The rights of the inviter are checked again when the link is used, so without an inviter it is invalid.
    inviter = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="invitations"
    )
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    end = models.CharField(max_length=20, blank=True, choices=InvitationEnd.choices)
    ended_at = models.DateTimeField(null=True)
    accepted_by = models.OneToOneField(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.CASCADE, related_name="invited_by"
    )

    class Meta:
        ordering = ("-pk",)

    def __str__(self) -> str:
        return f"Invitation of {self.name}"
