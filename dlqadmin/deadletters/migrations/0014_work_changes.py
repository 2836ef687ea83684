import django.db.models.deletion
from django.db import migrations, models

from dlqadmin.deadletters.schema_changes import VendorSQL

MARKS, LETTERS, CHANGES = '"deadletters_replaymark"', '"deadletters_deadletter"', '"deadletters_workchange"'
COLUMNS = '"hour", "cluster", "topic", "connector", "fingerprint_id", "state", "removed", "n", "compacted"'

# Of an item that is being sent, and otherwise of the one that was sent last, as in `disposals.states`.
REPLACED = f"""
    UPDATE {MARKS} SET "state" = 'replaced' WHERE "state" = 'failed_again' AND (
        SELECT items."refailure_id" FROM "replays_replayitem" AS items
        WHERE items."dead_letter_id" = {MARKS}."dead_letter_id" AND items."sent_at" IS NOT NULL
        ORDER BY items."sent_at" DESC, items."id" DESC LIMIT 1
    ) IS NOT NULL
"""
FAILED_AGAIN = f"UPDATE {MARKS} SET \"state\" = 'failed_again' WHERE \"state\" = 'replaced'"


def work(state: str) -> str:
    """Return the work state of a mark's state, as `WORK_OF_MARK` does."""
    return (
        f"CASE WHEN {state} IN ('queued', 'sent', 'unknown') THEN 'replaying' WHEN {state} = 'passed' THEN 'passed' "
        f"WHEN {state} IN ('discarded', 'parked', 'handled', 'replaced') THEN 'set_aside' ELSE 'open' END"
    )


# One statement of a writer is one statement here, whatever the number of its rows. Nothing is updated, so writers
# never wait for each other.
PER_STATEMENT = f"""
CREATE FUNCTION deadletters_note_work() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        PERFORM 1 FROM now_marked LIMIT 1;
        IF NOT FOUND THEN RETURN NULL; END IF;
        INSERT INTO {CHANGES} ({COLUMNS})
        SELECT floor(extract(epoch FROM now()) / 3600), cluster, topic, connector, fingerprint_id,
            {work("mark.state")}, false, count(*), false
        FROM now_marked AS mark JOIN {LETTERS} AS letter ON letter.id = mark.dead_letter_id
        WHERE {work("mark.state")} <> 'open' GROUP BY 1, 2, 3, 4, 5, 6;
    ELSIF TG_OP = 'UPDATE' THEN
        PERFORM 1 FROM now_marked LIMIT 1;
        IF NOT FOUND THEN RETURN NULL; END IF;
        -- Most updates leave the work as it is. Their rows cancel out before dead letters are read. The two sets of
        -- rows are not joined: the plan is made once, and the sets of the first call may have been small.
        INSERT INTO {CHANGES} ({COLUMNS})
        SELECT floor(extract(epoch FROM now()) / 3600), cluster, topic, connector, fingerprint_id,
            mark.work, false, sum(mark.n), false
        FROM (
            SELECT dead_letter_id, work, sum(n) AS n FROM (
                SELECT dead_letter_id, {work("state")} AS work, 1 AS n FROM now_marked
                UNION ALL SELECT dead_letter_id, {work("state")}, -1 FROM was_marked
            ) AS step WHERE work <> 'open' GROUP BY dead_letter_id, work HAVING sum(n) <> 0
        ) AS mark JOIN {LETTERS} AS letter ON letter.id = mark.dead_letter_id
        GROUP BY 1, 2, 3, 4, 5, 6 HAVING sum(mark.n) <> 0;
    ELSE
        PERFORM 1 FROM was_marked LIMIT 1;
        IF NOT FOUND THEN RETURN NULL; END IF;
        INSERT INTO {CHANGES} ({COLUMNS})
        SELECT floor(extract(epoch FROM now()) / 3600), cluster, topic, connector, fingerprint_id,
            {work("mark.state")}, false, -count(*), false
        FROM was_marked AS mark JOIN {LETTERS} AS letter ON letter.id = mark.dead_letter_id
        WHERE {work("mark.state")} <> 'open' GROUP BY 1, 2, 3, 4, 5, 6;
    END IF;
    RETURN NULL;
END $$
"""
# The marks of removed dead letters are deleted here. Their own trigger finds no dead letter then, and counts nothing.
# DELETE waits for a writer of the mark and returns what it wrote; a SELECT would return what was there before.
PER_REMOVAL = f"""
CREATE FUNCTION deadletters_note_removal() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    WITH unmarked AS (
        DELETE FROM {MARKS} WHERE dead_letter_id IN (SELECT id FROM removed) RETURNING dead_letter_id, state
    )
    INSERT INTO {CHANGES} ({COLUMNS})
    SELECT floor(extract(epoch FROM now()) / 3600), cluster, topic, connector, fingerprint_id,
        {work("mark.state")}, true, count(*), false
    FROM removed AS letter LEFT JOIN unmarked AS mark ON mark.dead_letter_id = letter.id GROUP BY 1, 2, 3, 4, 5, 6;
    RETURN NULL;
END $$
"""
POSTGRES = [
    PER_STATEMENT,
    PER_REMOVAL,
    *(
        f"CREATE TRIGGER deadletters_work_{event.lower()} AFTER {event} ON {table} REFERENCING {tables} "
        f"FOR EACH STATEMENT EXECUTE FUNCTION {function}()"
        for event, table, tables, function in (
            ("INSERT", MARKS, "NEW TABLE AS now_marked", "deadletters_note_work"),
            ("UPDATE", MARKS, "OLD TABLE AS was_marked NEW TABLE AS now_marked", "deadletters_note_work"),
            ("DELETE", MARKS, "OLD TABLE AS was_marked", "deadletters_note_work"),
            ("DELETE", LETTERS, "OLD TABLE AS removed", "deadletters_note_removal"),
        )
    ),
]
POSTGRES_BACK = [
    *(f"DROP TRIGGER deadletters_work_{event} ON {MARKS}" for event in ("insert", "update", "delete")),
    f"DROP TRIGGER deadletters_work_delete ON {LETTERS}",
    "DROP FUNCTION deadletters_note_work()",
    "DROP FUNCTION deadletters_note_removal()",
]



def milliseconds(moment: str) -> str:
    """The time since the epoch on SQLite. strftime needs a percent sign, which Django takes for a parameter."""
    return f"CAST(ROUND((julianday({moment}) - 2440587.5) * 86400000) AS INTEGER)"


NOW = milliseconds("'now'") + " / 3600000"


def row_trigger(event: str, changes: list[tuple[str, int]]) -> str:
    """A trigger of SQLite that adds `n` to the work of each of these rows, OLD or NEW."""
    inserts = "; ".join(
        f"INSERT INTO {CHANGES} ({COLUMNS}) SELECT {NOW}, cluster, topic, connector, fingerprint_id, "
        f"{work(f'{row}.state')}, 0, {n}, 0 FROM {LETTERS} "
        f"WHERE id = {row}.dead_letter_id AND {work(f'{row}.state')} <> 'open'"
        for row, n in changes
    )
    same = f" WHEN {work('OLD.state')} <> {work('NEW.state')}" if event == "UPDATE" else ""
    return f"CREATE TRIGGER deadletters_work_{event.lower()} AFTER {event} ON {MARKS}{same} BEGIN {inserts}; END"


SQLITE = [
    row_trigger("INSERT", [("NEW", 1)]),
    row_trigger("UPDATE", [("OLD", -1), ("NEW", 1)]),
    row_trigger("DELETE", [("OLD", -1)]),
    f"CREATE TRIGGER deadletters_work_removal AFTER DELETE ON {LETTERS} BEGIN "
    f"INSERT INTO {CHANGES} ({COLUMNS}) SELECT {NOW}, OLD.cluster, OLD.topic, OLD.connector, OLD.fingerprint_id, "
    f"COALESCE((SELECT {work('state')} FROM {MARKS} WHERE dead_letter_id = OLD.id), 'open'), 1, 1, 0; "
    f"DELETE FROM {MARKS} WHERE dead_letter_id = OLD.id; END",
]
SQLITE_BACK = [f"DROP TRIGGER deadletters_work_{event}" for event in ("insert", "update", "delete", "removal")]


class Migration(migrations.Migration):
    """The triggers wait for transactions that write marks or dead letters, and not for rows.

    Django drops the triggers of SQLite if a later migration makes one of their tables anew: create them again there.
    """

    dependencies = [("deadletters", "0013_consumer_group"), ("replays", "0015_jobs")]

    operations = [
        migrations.CreateModel(
            name="WorkChange",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("hour", models.IntegerField()),
                ("cluster", models.CharField(max_length=64)),
                ("topic", models.CharField(max_length=249)),
                ("connector", models.CharField(blank=True, max_length=200)),
                ("state", models.CharField(max_length=10)),
                ("removed", models.BooleanField()),
                ("n", models.BigIntegerField()),
                ("compacted", models.BooleanField()),
                (
                    "fingerprint",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="deadletters.fingerprint",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(fields=["fingerprint"], name="work_change_fingerprint"),
                    models.Index(condition=models.Q(("compacted", False)), fields=["hour"], name="work_change_new"),
                ],
            },
        ),
        migrations.AlterField(
            model_name="replaymark",
            name="dead_letter",
            field=models.OneToOneField(
                db_constraint=False,
                on_delete=django.db.models.deletion.DO_NOTHING,
                primary_key=True,
                related_name="mark",
                serialize=False,
                to="deadletters.deadletter",
            ),
        ),
        VendorSQL(
            {"postgresql": [REPLACED, *POSTGRES], "sqlite": [REPLACED, *SQLITE]},
            {"postgresql": [*POSTGRES_BACK, FAILED_AGAIN], "sqlite": [*SQLITE_BACK, FAILED_AGAIN]},
        ),
    ]
