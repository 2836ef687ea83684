from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("deadletters", "0011_unchecked_references")]

    operations = [
        migrations.AddField(
            model_name="deadletterbody",
            name="refused",
            field=models.CharField(max_length=500, null=True),
        ),
        migrations.AlterField(
            model_name="deadletter",
            name="original",
            field=models.CharField(
                choices=[
                    ("embedded", "Embedded"),
                    ("fetched", "Fetched"),
                    ("expired", "Expired"),
                    ("unknown", "Unknown"),
                    ("forbidden", "Not fetched: not allowed"),
                ],
                default="embedded",
                max_length=10,
            ),
        ),
    ]
