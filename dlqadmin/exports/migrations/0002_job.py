from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("exports", "0001_initial")]

    operations = [
        migrations.RenameField(model_name="export", old_name="runner", new_name="claim_token"),
        migrations.RenameField(model_name="export", old_name="attempts", new_name="tries"),
        migrations.AlterField(
            model_name="export", name="claim_token", field=models.CharField(blank=True, max_length=64)
        ),
        migrations.AlterField(model_name="export", name="tries", field=models.IntegerField(default=0, db_default=0)),
    ]
