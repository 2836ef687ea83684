from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("deadletters", "0012_forbidden_originals")]

    operations = [
        migrations.AddField(
            model_name="deadletter",
            name="consumer_group",
            field=models.CharField(blank=True, max_length=255, null=True),
        ),
    ]
