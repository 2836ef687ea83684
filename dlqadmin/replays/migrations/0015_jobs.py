from django.db import migrations, models


def job(model):
    """Give the table of a job, whose heartbeat had another name, the columns of all jobs."""
    yield migrations.RenameField(model_name=model, old_name="touched_at", new_name="heartbeat")
    yield migrations.AlterField(model_name=model, name="heartbeat", field=models.DateTimeField(blank=True, null=True))
    yield migrations.AddField(
        model_name=model,
        name="claim_token",
        field=models.CharField(blank=True, default="", max_length=64),
        preserve_default=False,
    )
    yield migrations.AddField(model_name=model, name="tries", field=models.IntegerField(default=0, db_default=0))


class Migration(migrations.Migration):
    dependencies = [("replays", "0014_titles_without_keys")]

    operations = [
        migrations.RenameField(model_name="replay", old_name="sender", new_name="claim_token"),
        *job("bulkfix"),
        *job("disposalact"),
        migrations.AddField(
            model_name="disposalact",
            name="trouble",
            field=models.TextField(blank=True, default=""),
            preserve_default=False,
        ),
    ]
