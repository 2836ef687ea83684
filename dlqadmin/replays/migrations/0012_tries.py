from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("replays", "0011_resolve_groups")]

    operations = [
        migrations.AddField(model_name="replay", name="tries", field=models.IntegerField(default=0, db_default=0)),
    ]
