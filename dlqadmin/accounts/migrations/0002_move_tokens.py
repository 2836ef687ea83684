"""Move the API tokens of earlier versions, which were stored as plain text, and store their hashes."""

import hashlib
from datetime import timedelta

from django.conf import settings
from django.db import migrations
from django.utils import timezone

TABLE = "authtoken_token"
SUPERUSER = ["viewer", "operator", "approver", "payload reader"]


def move(apps, schema_editor):
    """Each goes on for 90 days with the rights of its owner; tokens of deactivated users end."""
    connection = schema_editor.connection
    if TABLE not in connection.introspection.table_names():
        return
    users = apps.get_model("auth", "User").objects.using(connection.alias)
    tokens = apps.get_model("accounts", "ApiToken").objects.using(connection.alias)
    now = timezone.now()
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT user_id, {connection.ops.quote_name('key')} FROM {TABLE}")
        rows = cursor.fetchall()
    for user_id, key in rows:
        owner = users.filter(pk=user_id, is_active=True).first()
        digest = hashlib.sha256(key.encode()).hexdigest()
        if owner is None or tokens.filter(digest=digest).exists():
            continue
        tokens.create(
            owner=owner,
            name="moved from before",
            digest=digest,
            scopes=SUPERUSER if owner.is_superuser else sorted(owner.groups.values_list("name", flat=True)),
            password_digest=hashlib.sha256(owner.password.encode()).hexdigest(),
            created_at=now,
            expires_at=now + timedelta(days=90),
        )


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0001_initial"),
        ("audit", "0004_payload_readers"),  # a token keeps the rights that its owner has after the upgrade
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ("auth", "0012_alter_user_first_name_max_length"),
    ]
    operations = [migrations.RunPython(move, migrations.RunPython.noop)]
