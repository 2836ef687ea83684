from django.db import migrations, models

from dlqadmin.deadletters.schema_changes import AddIndexQuietly


class Migration(migrations.Migration):
    atomic = False  # for the index, which is made while rows are written

    dependencies = [("deadletters", "0008_keys_of_fingerprints")]

    operations = [
        AddIndexQuietly(
            model_name="deadletter",
            index=models.Index(
                fields=["origin_topic", "-failed_at", "-id"],
                include=["origin_partition"],
                name="dead_letter_origin_time",
            ),
        ),
    ]
