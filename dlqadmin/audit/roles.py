"""The groups that an installation starts with."""

from django.contrib.auth.models import Group, Permission
from django.db import transaction

from dlqadmin.audit.permissions import APP, SCOPES


def create_missing(using: str = "default") -> None:
    """Create the groups that are missing, with their permissions.

    Existing groups are not changed, because an administrator may have given them other permissions.
    """
    through = Group.permissions.through
    with transaction.atomic(using):
        known = set(Group.objects.using(using).values_list("name", flat=True))
        missing = [name for name in SCOPES if name not in known]
        # bulk_create sends no signal, so no audit entry claims that a person created the groups.
        Group.objects.using(using).bulk_create([Group(name=name) for name in missing], ignore_conflicts=True)
        groups = Group.objects.using(using).in_bulk(missing, field_name="name")
        rows = Permission.objects.using(using).filter(content_type__app_label=APP)
        ids = dict(rows.values_list("codename", "pk"))  # has no row of ours before migration 0005
        links = [
            through(group_id=group.pk, permission_id=ids[permission.codename])
            for name, group in groups.items()
            for permission in SCOPES[name]
            if permission.codename in ids
        ]
        through.objects.using(using).bulk_create(links, ignore_conflicts=True)
