from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("deadletters", "0006_replay_at_scale")]

    operations = [
        migrations.AddField(
            model_name="deadletterbody", name="trace_heads", field=models.TextField(null=True)
        ),
    ]
