"""The audit app. It also creates the groups of a new installation."""

from typing import Any

from django.apps import AppConfig
from django.conf import settings
from django.core import checks
from django.db.models.signals import post_migrate


def ensure_roles(using: str, **kwargs: Any) -> None:
    """Create missing groups after each migration, and after a flush."""
    from dlqadmin.audit import roles

    roles.create_missing(using)


def check_shipping(app_configs: Any, **kwargs: Any) -> list[checks.CheckMessage]:
    """Report an AUDIT_SHIP_TO that is not a valid target."""
    from dlqadmin.audit.shipments import InvalidShippingTarget, sender

    try:
        if settings.AUDIT_SHIP_TO:
            sender(settings.AUDIT_SHIP_TO)
    except InvalidShippingTarget as error:
        return [checks.Error(str(error), id="audit.E001")]
    return []


class AuditConfig(AppConfig):
    name = "dlqadmin.audit"
    label = "audit"
    verbose_name = "Audit"

    def ready(self) -> None:
        from dlqadmin.audit import account_changes, sign_ins

        checks.register(check_shipping)
        sign_ins.watch()
        account_changes.watch()
        post_migrate.connect(ensure_roles, sender=self)
