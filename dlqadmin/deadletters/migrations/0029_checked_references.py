from importlib import import_module

from django.db import migrations

from dlqadmin.deadletters.schema_partitions import ValidateReferences

TABLES = import_module("dlqadmin.deadletters.migrations.0027_limited_ids").TABLES


class Migration(migrations.Migration):
    """Reads the references to dead letters, while others read and write."""

    atomic = False
    dependencies = [("deadletters", "0028_partitions")]

    operations = [ValidateReferences(TABLES)]
