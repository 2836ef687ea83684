import django.db.models.deletion
from django.db import migrations, models

from dlqadmin.deadletters.schema_changes import VendorSQL


def drop(table: str, column: str) -> str:
    """Its name was made by a hash."""
    return (
        "DO $$ DECLARE found text; BEGIN "
        "SELECT conname INTO STRICT found FROM pg_constraint JOIN pg_attribute ON attrelid = conrelid "
        f"WHERE conrelid = '\"{table}\"'::regclass AND contype = 'f' "
        f"AND conkey = ARRAY[attnum] AND attname = '{column}'; "
        f"EXECUTE format('ALTER TABLE \"{table}\" DROP CONSTRAINT %%I', found); END $$"
    )


def add(table: str, column: str, other: str) -> str:
    """Return SQL that adds a reference without a check of the existing rows. VALIDATE it later to check them."""
    return (
        f'ALTER TABLE "{table}" ADD CONSTRAINT "{table}_{column}_fk" FOREIGN KEY ("{column}") '
        f'REFERENCES "{other}" ("id") DEFERRABLE INITIALLY DEFERRED NOT VALID'
    )


BODY = ("deadletters_deadletterbody", "dead_letter_id")
LETTER = ("deadletters_deadletter", "fingerprint_id")


class Migration(migrations.Migration):
    """At once at any size. SQLite, which would write whole tables anew, keeps the checks: there they cost little."""

    dependencies = [("deadletters", "0010_replay_marks")]

    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[
                VendorSQL(
                    {"postgresql": [drop(*LETTER), drop(*BODY)]},  # as the indexer asks for the tables
                    {
                        "postgresql": [
                            add(*LETTER, "deadletters_fingerprint"),
                            add(*BODY, "deadletters_deadletter"),
                        ]
                    },
                )
            ],
            state_operations=[
                migrations.AlterField(
                    model_name="deadletterbody",
                    name="dead_letter",
                    field=models.OneToOneField(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="body",
                        serialize=False,
                        to="deadletters.deadletter",
                    ),
                ),
                migrations.AlterField(
                    model_name="deadletter",
                    name="fingerprint",
                    field=models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="deadletters.fingerprint",
                    ),
                ),
            ],
        ),
    ]
