"""What was done, by whom."""

from django.conf import settings
from django.db import models


class AuditEntry(models.Model):
    """One act of a person; written in the act's own transaction and never changed."""

    at = models.DateTimeField(auto_now_add=True)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    actor = models.CharField(max_length=150)
    action = models.CharField(max_length=100)
    object_type = models.CharField(max_length=50)
    object_id = models.CharField(max_length=300)
    detail = models.JSONField(default=dict)
    digest = models.CharField(max_length=64)

    class Meta:
        verbose_name_plural = "audit entries"
        indexes = [models.Index(fields=["object_type", "object_id", "-id"], name="audit_by_object")]

    def __str__(self) -> str:
        return f"{self.actor} {self.action} {self.object_type} {self.object_id}"
