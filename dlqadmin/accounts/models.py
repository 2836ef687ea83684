"""API tokens, identities of OpenID providers and second factors.

A copy of the database contains no usable token, code or TOTP secret.
"""

from django.conf import settings
from django.contrib.auth.models import Group
from django.db import models


class TokenEnd(models.TextChoices):
    """The reason why a token ended before its expiry."""

    REVOKED = "revoked", "revoked"
    PASSWORD_CHANGED = "password_changed", "password changed"  # a reason, not a password
    DEACTIVATED = "deactivated", "owner deactivated"
    RIGHTS_LOST = "rights_lost", "owner lost a right"


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


class ProviderIdentity(models.Model):
    """A person at an OpenID provider, known by issuer and subject, and the account that it signs in to."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="identities")
    provider = models.CharField(max_length=40)  # its name in OIDC_PROVIDERS
    issuer = models.CharField(max_length=255)
    subject = models.CharField(max_length=255)
    groups = models.ManyToManyField(Group, related_name="+")  # what the provider gave, not an administrator
    flags = models.JSONField(default=list)  # of the user: those that the provider set, such as is_superuser
    created_at = models.DateTimeField()
    last_sign_in_at = models.DateTimeField(null=True)

    class Meta:
        verbose_name = "provider identity"
        verbose_name_plural = "provider identities"
        constraints = [models.UniqueConstraint(fields=["issuer", "subject"], name="one_account_of_identity")]

    def __str__(self) -> str:
        return f"{self.subject} at {self.provider}"


class TotpDevice(models.Model):
    """The authenticator app of a user. It counts from the moment when a code confirmed it."""

    user = models.OneToOneField(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="totp_device")
    sealed_secret = models.CharField(max_length=255)  # encrypted with a key that SECRET_KEY gives
    confirmed_at = models.DateTimeField(null=True)
    last_step = models.BigIntegerField(default=0)  # the time step of the last accepted code

    class Meta:
        verbose_name = "authenticator app"
        verbose_name_plural = "authenticator apps"

    def __str__(self) -> str:
        return f"authenticator app of {self.user}"


class RecoveryCode(models.Model):
    """A code that replaces the authenticator app once."""

    device = models.ForeignKey(TotpDevice, on_delete=models.CASCADE, related_name="recovery_codes")
    digest = models.CharField(max_length=64)  # SHA-256 of the code
    used_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["device", "digest"], name="recovery_code_of_device")]

    def __str__(self) -> str:
        return f"recovery code of {self.device.user}"


class LastSeen(models.Model):
    """The last activity of a person in a session, to the minute."""

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, primary_key=True, on_delete=models.CASCADE, related_name="last_seen"
    )
    at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.user} at {self.at}"
