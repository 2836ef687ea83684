from django.db import migrations

from dlqadmin.deadletters.schema_partitions import LimitIds, Partitioned

# The tables that grow with each dead letter.
TABLES = (
    Partitioned(
        "deadletters_deadletter", "id", ("dead_letter_coordinates", '"cluster", "topic", "partition", "offset"')
    ),
    Partitioned("deadletters_deadletterbody", "dead_letter_id"),
    Partitioned("deadletters_deadlettertext", "rowid"),
    Partitioned("deadletters_decodedvalue", "dead_letter_id"),
)
ROOM = 1_000_000


class Migration(migrations.Migration):
    """Reads the ids of all dead letters, while others read and write."""

    atomic = False
    dependencies = [("deadletters", "0026_origin_sources")]

    operations = [LimitIds(TABLES, ROOM)]
