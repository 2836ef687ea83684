"""Entries of the audit trail, the chain that seals them, and the declaration of permissions."""

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone

from dlqadmin.audit.permissions import PERMISSIONS
from dlqadmin.audit.reach import entries_in_reach
from dlqadmin.teams.managers import InReach

READ = "read payload"  # the action of the entries that most readers of the trail leave out


class AuditEntry(models.Model):
    """One action of a person.

    It is written in the action's own transaction. Later it is only changed once, when it is sealed.
    """

    at = models.DateTimeField(default=timezone.now)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    actor = models.CharField(max_length=150)
    address = models.CharField(max_length=45, null=True)
    action = models.CharField(max_length=100)
    object_type = models.CharField(max_length=50)
    object_id = models.CharField(max_length=300)
    detail = models.JSONField(default=dict)
    digest = models.CharField(max_length=64)  # HMAC of the entry's facts, computed when it was written
    seq = models.BigIntegerField(null=True, unique=True)  # its number in the chain; null until it is sealed
    seal = models.CharField(max_length=64, default="")  # HMAC of seq, digest and the seal before

    objects = InReach["AuditEntry"].by(entries_in_reach)

    class Meta:
        verbose_name_plural = "audit entries"
        indexes = [
            models.Index(fields=["id"], condition=Q(seq=None), name="audit_unsealed"),
            # The list's order is (at, id), descending. Each filter by a column has an index in this order.
            models.Index(fields=["at", "id"], name="audit_by_time"),
            models.Index(fields=["at", "id"], condition=~Q(action=READ), name="audit_without_reads"),
            models.Index(fields=["actor", "at", "id"], name="audit_by_actor"),
            models.Index(fields=["action", "at", "id"], name="audit_by_action"),
            models.Index(fields=["object_type", "at", "id"], name="audit_by_type"),
            models.Index(fields=["object_id", "at", "id"], name="audit_by_object"),
        ]

    def __str__(self) -> str:
        return f"{self.actor} {self.action} {self.object_type} {self.object_id}"


class AuditHead(models.Model):
    """The single row that stores the end of the chain. Sealing locks it."""

    ID = 1

    seq = models.BigIntegerField(default=0)
    seal = models.CharField(max_length=64, default="")
    digest = models.CharField(max_length=64, default="")  # HMAC of seq and seal

    def __str__(self) -> str:
        return f"{self.seq}:{self.seal}"


class AuditShipment(models.Model):
    """The last entry that was sent to one target of AUDIT_SHIP_TO."""

    target = models.CharField(max_length=300, unique=True)
    seq = models.BigIntegerField(default=0)
    at = models.DateTimeField(default=timezone.now)
    trouble = models.CharField(max_length=500, default="")

    def __str__(self) -> str:
        return f"{self.target} {self.seq}"


class DashboardAccess(models.Model):
    """The declaration of the dashboard's permissions. It has no table and no rows.

    Django needs a model to create permissions, and shows its name before each of them in the admin.
    """

    class Meta:
        managed = False
        default_permissions = ()
        permissions = [(permission.codename, permission.label) for permission in PERMISSIONS]
        verbose_name = "dashboard"

    def __str__(self) -> str:
        return "dashboard"
