"""The audit app; it also keeps the two role groups in existence."""

from typing import Any

from django.apps import AppConfig
from django.db.models.signals import post_migrate


def ensure_roles(using: str, **kwargs: Any) -> None:
    """Make the groups that roles are named by."""
    from django.contrib.auth.models import Group

    for name in ("viewer", "operator", "approver"):
        Group.objects.using(using).get_or_create(name=name)


class AuditConfig(AppConfig):
    name = "dlqadmin.audit"
    label = "audit"
    verbose_name = "Audit"

    def ready(self) -> None:
        post_migrate.connect(ensure_roles, sender=self)
