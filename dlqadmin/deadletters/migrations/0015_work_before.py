from importlib import import_module

from django.db import migrations, models

from dlqadmin.deadletters.schema_changes import AddIndexQuietly, VendorSQL

CELL = '"cluster", "topic", "connector", "fingerprint_id"'
WORK = import_module("dlqadmin.deadletters.migrations.0014_work_changes")


def missing(hour, day) -> str:
    """Return a statement that adds the changes which no trigger noted, from before the triggers.

    It adds what the rows and counters show, less what is noted already. A statement reads one snapshot, in which
    each change is both or neither. So writers need not wait, and a second run adds nothing.

    - A mark gets the time of its disposal, or of its replay's last outcome.
    - A dead letter that is counted but not in the index was removed. It gets the day of its failure.
    """
    return f"""
        INSERT INTO {WORK.CHANGES} ({WORK.COLUMNS})
        SELECT "hour", {CELL}, "state", "removed", SUM("n"), "compacted" FROM (
            SELECT {hour("COALESCE(disposed.at, sent.at, mark.failed_at)")} AS "hour", {CELL},
                {WORK.work("mark.state")} AS "state", FALSE AS "removed", 1 AS "n", FALSE AS "compacted"
            FROM {WORK.MARKS} AS mark JOIN {WORK.LETTERS} AS letter ON letter.id = mark.dead_letter_id
            LEFT JOIN "replays_disposal" AS disposed ON disposed.dead_letter_id = mark.dead_letter_id
            LEFT JOIN (
                SELECT dead_letter_id, MAX(state_at) AS at FROM "replays_replayitem"
                WHERE sent_at IS NOT NULL OR state IN ('queued', 'sending') GROUP BY dead_letter_id
            ) AS sent ON sent.dead_letter_id = mark.dead_letter_id
            UNION ALL
            SELECT "hour", {CELL}, "state", FALSE, CASE WHEN "removed" THEN "n" ELSE -"n" END, FALSE FROM {WORK.CHANGES}
            UNION ALL
            SELECT "day" * 24 + 23, {CELL}, 'open', TRUE, "n", FALSE FROM "deadletters_countday"
            UNION ALL
            SELECT {day('"failed_at"')} * 24 + 23, {CELL}, 'open', TRUE, -COUNT(*), FALSE FROM {WORK.LETTERS}
            GROUP BY 1, {CELL}
            UNION ALL
            SELECT "hour", {CELL}, 'open', TRUE, -"n", FALSE FROM {WORK.CHANGES} WHERE "removed"
        ) AS found
        WHERE "removed" OR "state" <> 'open'
        GROUP BY "hour", {CELL}, "state", "removed", "compacted" HAVING SUM("n") <> 0
    """


POSTGRES = missing(
    lambda moment: f"CAST(floor(extract(epoch FROM {moment}) / 3600) AS integer)",
    lambda moment: f"CAST(floor(extract(epoch FROM {moment}) / 86400) AS integer)",
)
SQLITE = missing(
    lambda moment: f"{WORK.milliseconds(moment)} / 3600000",
    lambda moment: f"{WORK.milliseconds(moment)} / 86400000",
)


class Migration(migrations.Migration):
    """Nobody waits for it, so it is not atomic: the triggers are there for everybody."""

    atomic = False
    dependencies = [("deadletters", "0014_work_changes")]

    operations = [
        VendorSQL({"postgresql": [POSTGRES], "sqlite": [SQLITE]}, {}),
        AddIndexQuietly("countday", models.Index(fields=["fingerprint"], name="count_day_fingerprint")),
    ]
