from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [("replays", "0008_shown")]

    operations = [
        migrations.AlterField(model_name="replay", name="chunk_records", field=models.IntegerField(default=2000)),
    ]
