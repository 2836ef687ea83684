"""The replay that a selection continues."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("replays", "0016_fix_programs")]

    operations = [
        migrations.AddField(
            model_name="selection",
            name="continues",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="continuations",
                to="replays.replay",
            ),
        ),
    ]
