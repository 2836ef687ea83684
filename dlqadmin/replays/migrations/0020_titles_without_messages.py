"""Take titles of groups out of the titles of selections and replays: they quote messages, and everybody sees titles."""

import re

from django.db import migrations

_NUMBERS = re.compile(r"group \d+(, \d+)*")


def hide_messages(apps, schema_editor):
    """Rename what was named by a group, and what continues it; titles that people chose stay."""
    using = schema_editor.connection.alias
    selection, replay, fingerprint = (
        apps.get_model(*name).objects.using(using)
        for name in (("replays", "Selection"), ("replays", "Replay"), ("deadletters", "Fingerprint"))
    )
    renamed = {}  # replay: its former and its new title
    for one in selection.order_by("pk").iterator(chunk_size=100):  # a continuation is younger than its replay
        title = _title(one, renamed, fingerprint)
        if title is None or title == one.title:
            continue
        named = replay.filter(selection=one, title=one.title)
        renamed |= dict.fromkeys(named.values_list("pk", flat=True), (one.title, title))
        named.update(title=title)
        selection.filter(pk=one.pk).update(title=title)


def _title(one, renamed, fingerprints):
    """Return a title that quotes no message; None where the title was not a group's."""
    if one.continues_id is not None:
        before, after = renamed.get(one.continues_id, ("", None))
        return after if one.title == before else None
    include = one.filters.get("include", {})
    if list(include) != ["fingerprint"] or one.filters.get("exclude") or one.filters.get("choices"):
        return None
    if _NUMBERS.fullmatch(one.title):
        return None
    row = fingerprints.filter(pk__in=[int(pk) for pk in include["fingerprint"]]).order_by("pk").first()
    return f"{row.exception_class.rpartition('.')[2]} in {row.stage} (group {row.group_id})" if row else "one group"


class Migration(migrations.Migration):
    dependencies = [("replays", "0019_selection_sources"), ("deadletters", "0025_erased_records")]

    operations = [migrations.RunPython(hide_messages, migrations.RunPython.noop)]
