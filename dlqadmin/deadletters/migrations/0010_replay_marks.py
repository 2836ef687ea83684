import django.db.models.deletion
from django.db import migrations, models

from dlqadmin.deadletters.schema_changes import VendorSQL

FORWARDS = (
    'INSERT INTO "deadletters_replaymark" ("dead_letter_id", "state", "failed_at") '
    'SELECT "id", "replay_state", "failed_at" FROM "deadletters_deadletter" WHERE NOT ("replay_state" = \'none\')'
)
BACKWARDS = (
    'UPDATE "deadletters_deadletter" SET "replay_state" = "mark"."state" FROM "deadletters_replaymark" AS "mark" '
    'WHERE "mark"."dead_letter_id" = "deadletters_deadletter"."id"'
)
ANALYZE = 'ANALYZE "deadletters_replaymark"'


class Migration(migrations.Migration):
    """The copy reads the index that is removed afterwards. PostgreSQL drops the column without reading the rows."""

    dependencies = [("deadletters", "0009_origins_by_time")]

    operations = [
        migrations.CreateModel(
            name="ReplayMark",
            fields=[
                (
                    "dead_letter",
                    models.OneToOneField(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="mark",
                        serialize=False,
                        to="deadletters.deadletter",
                    ),
                ),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("none", "None"),
                            ("queued", "Queued"),
                            ("sent", "Sent"),
                            ("passed", "Passed"),
                            ("failed_again", "Failed Again"),
                            ("unknown", "Unknown"),
                            ("discarded", "Discarded"),
                            ("parked", "Parked"),
                            ("handled", "Handled"),
                        ],
                        max_length=20,
                    ),
                ),
                ("failed_at", models.DateTimeField()),
            ],
            options={
                "indexes": [
                    models.Index(fields=["state", "-failed_at", "-dead_letter"], name="replay_mark_state"),
                ],
            },
        ),
        VendorSQL(
            {"postgresql": [FORWARDS, ANALYZE], "sqlite": [FORWARDS]},
            {"postgresql": [BACKWARDS], "sqlite": [BACKWARDS]},
        ),
        migrations.RemoveIndex(model_name="deadletter", name="dead_letter_replay"),
        migrations.RemoveField(model_name="deadletter", name="replay_state"),
    ]
