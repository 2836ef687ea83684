import django.contrib.postgres.indexes
import django.contrib.postgres.search
import django.db.models.deletion
from django.db import migrations, models

from dlqadmin.deadletters.schema_changes import VendorSQL

POSTGRES = [
    'CREATE TABLE "deadletters_deadlettertext" ('
    '"rowid" bigint NOT NULL PRIMARY KEY REFERENCES "deadletters_deadletter" ("id") DEFERRABLE INITIALLY DEFERRED, '
    '"document" tsvector NOT NULL)',
    'CREATE INDEX "dead_letter_text" ON "deadletters_deadlettertext" USING gin ("document")',
]
SQLITE = [
    'CREATE VIRTUAL TABLE "deadletters_deadlettertext" USING fts5("document", tokenize="unicode61 remove_diacritics 0")'
]
DROP = ['DROP TABLE "deadletters_deadlettertext"']

# What is written from now on is compressed by lz4, several times as fast as the default; nothing is written anew.
LARGE = (
    ("deadletters_deadletterbody", "value"),
    ("deadletters_deadletterbody", "context"),
    ("deadletters_deadletterbody", "headers"),
    ("deadletters_trace", "text"),
)
KNOWN = "SELECT 1 FROM pg_settings WHERE name = 'default_toast_compression' AND 'lz4' = ANY(enumvals)"


def compress(method):
    return [
        f'DO $$ BEGIN IF EXISTS ({KNOWN}) THEN ALTER TABLE "{table}" ALTER COLUMN "{column}" '
        f"SET COMPRESSION {method}; END IF; END $$"
        for table, column in LARGE
    ]


class Migration(migrations.Migration):
    dependencies = [("deadletters", "0003_triage_and_text")]

    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[
                VendorSQL({"postgresql": POSTGRES, "sqlite": SQLITE}, {"postgresql": DROP, "sqlite": DROP})
            ],
            state_operations=[
                migrations.CreateModel(
                    name="DeadLetterText",
                    fields=[
                        (
                            "dead_letter",
                            models.OneToOneField(
                                db_column="rowid",
                                on_delete=django.db.models.deletion.CASCADE,
                                primary_key=True,
                                related_name="text",
                                serialize=False,
                                to="deadletters.deadletter",
                            ),
                        ),
                        ("document", django.contrib.postgres.search.SearchVectorField()),
                    ],
                    options={
                        "indexes": [
                            django.contrib.postgres.indexes.GinIndex(fields=["document"], name="dead_letter_text")
                        ],
                    },
                ),
            ],
        ),
        VendorSQL({"postgresql": compress("lz4")}, {"postgresql": compress("default")}),
    ]
