from importlib import import_module

import django.db.models.deletion
from django.db import migrations, models

from dlqadmin.deadletters.schema_changes import VendorSQL
from dlqadmin.deadletters.schema_partitions import PartitionById

TABLES = import_module("dlqadmin.deadletters.migrations.0027_limited_ids").TABLES
SIZE = 10_000_000
TEXT = '"deadletters_deadlettertext"'
# Its name was made by PostgreSQL.
UNCHECKED = f"ALTER TABLE {TEXT} DROP CONSTRAINT deadletters_deadlettertext_rowid_fkey"
CHECKED = (
    f'ALTER TABLE {TEXT} ADD CONSTRAINT deadletters_deadlettertext_rowid_fkey FOREIGN KEY ("rowid") '
    'REFERENCES "deadletters_deadletter" ("id") DEFERRABLE INITIALLY DEFERRED NOT VALID'
)


class Migration(migrations.Migration):
    """At once at any size: the existing tables become the first partitions.

    The reference of words to their dead letters is not checked any more. The check would read all words when a
    partition of dead letters is dropped.
    """

    dependencies = [("deadletters", "0027_limited_ids"), ("replays", "0025_unchecked_references")]

    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[VendorSQL({"postgresql": [UNCHECKED]}, {"postgresql": [CHECKED]})],
            state_operations=[
                migrations.AlterField(
                    model_name="deadlettertext",
                    name="dead_letter",
                    field=models.OneToOneField(
                        db_column="rowid",
                        db_constraint=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="text",
                        serialize=False,
                        to="deadletters.deadletter",
                    ),
                ),
            ],
        ),
        PartitionById(TABLES, SIZE),
    ]
