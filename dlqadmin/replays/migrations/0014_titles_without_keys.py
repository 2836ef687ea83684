"""Take keys and searched content out of the titles of selections and replays: everybody sees titles."""

from django.db import migrations

OF_CONTENT = ("key", "text", "words")


def hide_content(apps, schema_editor):
    """Rename what was named by a record's key, or by a filter that asks for content; titles that people chose stay."""
    using = schema_editor.connection.alias
    selection, replay, letter = (
        apps.get_model(*name)
        for name in (("replays", "Selection"), ("replays", "Replay"), ("deadletters", "DeadLetter"))
    )
    for one in selection.objects.using(using).iterator(chunk_size=100):
        title = _title(one, letter.objects.using(using))
        if title is not None and title != one.title:
            replay.objects.using(using).filter(selection=one, title=one.title).update(title=title)
            selection.objects.using(using).filter(pk=one.pk).update(title=title)


def _title(one, letters):
    """Return a title without content; None where the title holds none."""
    ids = one.filters.get("ids")
    if ids and len(ids) == 1 and one.title.startswith("record "):
        row = letters.filter(pk=ids[0]).first()
        return f"record {row.topic} / {row.partition} / {row.offset}" if row else f"record {ids[0]}"
    if ids is None:
        named = [_named(name, values) for name, values in one.filters.get("include", {}).items()]
        named += [f"not {_named(name, values)}" for name, values in one.filters.get("exclude", {}).items()]
        hidden = any("…" in name for name in named)
        return "; ".join(named)[:300] if hidden else None
    searched = ("value.", "header.", *(f"{name} " for name in OF_CONTENT))
    asks = any(part.removeprefix("not ").startswith(searched) for part in one.title.split("; "))
    return "records found by their content" if asks else None


def _named(name, values):
    asks = name in OF_CONTENT or name.startswith(("value.", "header."))
    return f"{name.replace('_', ' ')} {'…' if asks else ', '.join(values)}"


class Migration(migrations.Migration):
    dependencies = [("replays", "0013_authors"), ("deadletters", "0012_forbidden_originals")]

    operations = [migrations.RunPython(hide_content, migrations.RunPython.noop)]
