"""The headers that mappings read, as they were when a replay was planned."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("replays", "0017_continuations")]

    operations = [
        migrations.AddField(
            model_name="replay", name="mapped_headers", field=models.JSONField(blank=True, null=True)
        ),
    ]
