from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("replays", "0012_tries")]

    operations = [
        migrations.AddField(
            model_name="replay",
            name="authors",
            field=models.JSONField(default=list),
        ),
    ]
