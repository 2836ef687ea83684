"""Responses of several Connect clusters. The row of the only address so far is the one of the cluster `engine`."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("connectors", "0001_initial")]

    operations = [
        migrations.AddField("engineanswer", "cluster", models.CharField(default="engine", max_length=50)),
        migrations.RemoveField("engineanswer", "address"),
        migrations.AlterField("engineanswer", "cluster", models.CharField(max_length=50, unique=True)),
        migrations.AddField("engineanswer", "software", models.CharField(default="", max_length=20)),
        migrations.AddField("engineanswer", "version", models.CharField(default="", max_length=100)),
    ]
