"""Take titles of replays out of dismissals: a title may have been that of a group, which quotes messages."""

from django.db import migrations


def hide_messages(apps, schema_editor):
    """Shorten the title of a dismissed finding to the replay's name if it has another title than the replay now."""
    using = schema_editor.connection.alias
    dismissals = apps.get_model("overview", "Dismissal").objects.using(using)
    replays = apps.get_model("replays", "Replay").objects.using(using)
    for one in dismissals.filter(kind__in=("replay_failing", "approval", "approval_yours")).iterator(chunk_size=100):
        # Rows of earlier versions have no object.
        name = f"R-{one.object_id}" if one.object_id else "A replay"
        title = replays.filter(pk=one.object_id or 0).values_list("title", flat=True).first()
        if title is None or not one.title.startswith(f"{name}: {title}"):
            dismissals.filter(pk=one.pk).update(title=name)


class Migration(migrations.Migration):
    dependencies = [("overview", "0002_dismissal_objects"), ("replays", "0020_titles_without_messages")]

    operations = [migrations.RunPython(hide_messages, migrations.RunPython.noop)]
