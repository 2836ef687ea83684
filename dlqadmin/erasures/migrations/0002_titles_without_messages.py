"""Take titles of groups out of the titles of erasures: they quote messages of records."""

from django.db import migrations

WITH_KEYS = "; and records with their keys"


def hide_messages(apps, schema_editor):
    """Rename erasures that were named by a group. People never choose these titles."""
    using = schema_editor.connection.alias
    erasures = apps.get_model("erasures", "Erasure").objects.using(using)
    groups = apps.get_model("deadletters", "Group").objects.using(using)
    for one in erasures.iterator(chunk_size=100):
        title = one.title.removesuffix(WITH_KEYS)
        if group := groups.filter(title=title).order_by("pk").first():
            named = f"group {group.pk}{one.title[len(title):]}"
            erasures.filter(pk=one.pk).update(title=named)


class Migration(migrations.Migration):
    dependencies = [("erasures", "0001_initial"), ("deadletters", "0025_erased_records")]

    operations = [migrations.RunPython(hide_messages, migrations.RunPython.noop)]
