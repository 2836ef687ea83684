from django.db import migrations, models

from dlqadmin.deadletters.schema_changes import AddIndexQuietly, RemoveIndexQuietly


class Migration(migrations.Migration):
    atomic = False  # for the indexes, which change while rows are written

    dependencies = [("deadletters", "0007_trace_heads")]

    operations = [
        AddIndexQuietly(
            model_name="deadletter",
            index=models.Index(
                fields=["fingerprint", "-failed_at", "-id"], include=["key_hash"], name="dead_letter_of_fingerprint"
            ),
        ),
        RemoveIndexQuietly(model_name="deadletter", name="dead_letter_fingerprint"),
    ]
