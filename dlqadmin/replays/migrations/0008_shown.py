from django.db import migrations, models


class Migration(migrations.Migration):
    """Start `shown` of existing replays at their progress."""

    dependencies = [("replays", "0007_disposal_acts")]

    operations = [
        migrations.AddField(
            model_name="replay", name="shown", field=models.IntegerField(default=0, db_default=0)
        ),
        migrations.RunSQL('UPDATE "replays_replay" SET "shown" = "progress"', migrations.RunSQL.noop),
    ]
