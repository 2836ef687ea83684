"""The audit app. It also creates the Django groups for roles and rights."""

from typing import Any

from django.apps import AppConfig
from django.conf import settings
from django.core import checks
from django.db.models.signals import post_migrate


def ensure_roles(using: str, **kwargs: Any) -> None:
    """Create the Django groups that represent roles and rights."""
    from django.contrib.auth.models import Group

    from dlqadmin.audit.permissions import RIGHTS

    # bulk_create sends no signal, so no audit entry claims that a person created the roles.
    groups = [Group(name=name) for name in RIGHTS]
    Group.objects.using(using).bulk_create(groups, ignore_conflicts=True)


def check_shipping(app_configs: Any, **kwargs: Any) -> list[checks.CheckMessage]:
    """Report an AUDIT_SHIP_TO that is not a valid target."""
    from dlqadmin.audit.shipments import BadTarget, sender

    try:
        if settings.AUDIT_SHIP_TO:
            sender(settings.AUDIT_SHIP_TO)
    except BadTarget as error:
        return [checks.Error(str(error), id="audit.E001")]
    return []


class AuditConfig(AppConfig):
    name = "dlqadmin.audit"
    label = "audit"
    verbose_name = "Audit"

    def ready(self) -> None:
        from django.contrib import admin

        from dlqadmin.audit import account_changes, sign_ins
        from dlqadmin.audit.forms import LimitedSignInForm

        admin.site.login_form = LimitedSignInForm
        checks.register(check_shipping)
        sign_ins.watch()
        account_changes.watch()
        post_migrate.connect(ensure_roles, sender=self)
