"""Names of bulk fixes, and a table for their programs: previewed versions and templates."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("replays", "0015_jobs"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name="bulkfix",
            name="name",
            field=models.CharField(blank=True, db_default="", default="", max_length=100),
        ),
        migrations.CreateModel(
            name="FixProgram",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "kind",
                    models.CharField(
                        choices=[("jq", "Jq"), ("patch", "Patch"), ("fields", "Fields"), ("offline", "Offline")],
                        max_length=10,
                    ),
                ),
                ("program", models.TextField()),
                ("name", models.CharField(blank=True, max_length=100, null=True)),
                ("is_shared", models.BooleanField(default=False)),
                ("counts", models.JSONField(default=dict)),
                ("created_at", models.DateTimeField()),
                (
                    "author",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "selection",
                    models.ForeignKey(
                        null=True, on_delete=django.db.models.deletion.CASCADE, related_name="+", to="replays.selection"
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(condition=models.Q(("name__isnull", False)), fields=["name"], name="fix_template_name")
                ],
                "constraints": [models.UniqueConstraint(fields=("author", "name"), name="fix_template_once")],
            },
        ),
    ]
