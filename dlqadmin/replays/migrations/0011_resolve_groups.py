from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("replays", "0010_replaced_drafts")]

    operations = [
        migrations.AddField(
            model_name="replay", name="resolve_groups", field=models.BooleanField(default=False, db_default=False)
        ),
    ]
