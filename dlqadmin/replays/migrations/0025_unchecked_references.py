from importlib import import_module

import django.db.models.deletion
from django.db import migrations, models

from dlqadmin.deadletters.schema_changes import VendorSQL

earlier = import_module("dlqadmin.deadletters.migrations.0011_unchecked_references")
ITEMS, LETTERS = "replays_replayitem", "deadletters_deadletter"
COLUMNS = ("dead_letter_id", "refailure_id")


class Migration(migrations.Migration):
    """At once at any size. Checks on partitions, which dead letters get next, would take 40 µs an item.

    SQLite, which would write the whole table anew, keeps them: there they cost little.
    """

    dependencies = [("replays", "0024_index_goals")]

    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[
                VendorSQL(
                    {"postgresql": [earlier.drop(ITEMS, column) for column in COLUMNS]},
                    {"postgresql": [earlier.add(ITEMS, column, LETTERS) for column in COLUMNS]},
                )
            ],
            state_operations=[
                migrations.AlterField(
                    model_name="replayitem",
                    name="dead_letter",
                    field=models.ForeignKey(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="deadletters.deadletter",
                    ),
                ),
                migrations.AlterField(
                    model_name="replayitem",
                    name="refailure",
                    field=models.ForeignKey(
                        blank=True,
                        db_constraint=False,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="deadletters.deadletter",
                    ),
                ),
            ],
        ),
    ]
