"""Declare the dashboard's permissions, and give them to the groups that stood for rights until now."""

from django.db import migrations, models

PERMISSIONS = [
    ("view_deadletters", "View dead letters without their content, groups, replays, connectors and the audit trail"),
    ("operate", "Plan and run replays, triage groups, control connectors; needs the permission to view"),
    ("approve_replays", "Approve the replays of other people; needs the permissions to view and to operate"),
    ("read_payloads", "Read keys, values and headers of records; needs the permission to view"),
]
GROUPS = {
    "viewer": ("view_deadletters",),
    "operator": ("view_deadletters", "operate"),
    "approver": ("view_deadletters", "operate", "approve_replays"),
    "payload reader": ("read_payloads",),
}


def give_permissions(apps, schema_editor):
    """Create missing groups; each keeps its members. Django creates permissions only after all migrations."""
    using = schema_editor.connection.alias
    types = apps.get_model("contenttypes", "ContentType").objects.using(using)
    permissions = apps.get_model("auth", "Permission").objects.using(using)
    groups = apps.get_model("auth", "Group").objects.using(using)
    dashboard, _ = types.get_or_create(app_label="audit", model="dashboardaccess")
    made = {
        codename: permissions.get_or_create(content_type=dashboard, codename=codename, defaults={"name": label})[0]
        for codename, label in PERMISSIONS
    }
    for name, codenames in GROUPS.items():
        group, _ = groups.get_or_create(name=name)
        group.permissions.add(*(made[codename] for codename in codenames))


class Migration(migrations.Migration):
    dependencies = [
        ("audit", "0004_payload_readers"),
        ("auth", "0012_alter_user_first_name_max_length"),
        ("contenttypes", "0002_remove_content_type_name"),
    ]

    operations = [
        migrations.CreateModel(
            name="DashboardAccess",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
            ],
            options={
                "verbose_name": "dashboard",
                "permissions": PERMISSIONS,
                "managed": False,
                "default_permissions": (),
            },
        ),
        migrations.RunPython(give_permissions, migrations.RunPython.noop),
    ]
