"""Seal the entries that were written before there was a chain, in the order of their ids."""

from typing import Any

from django.db import migrations

from dlqadmin.audit import digests, chain

BATCH = 500


def seal(apps: Any, schema_editor: Any) -> None:
    entries, heads = apps.get_model("audit", "AuditEntry"), apps.get_model("audit", "AuditHead")
    key, last = digests.keys()[-1], 0
    while rows := list(entries.objects.filter(id__gt=last, seq=None).order_by("id")[:BATCH]):
        for row in rows:  # what they had was a hash without a key
            row.digest = digests.entry_digest(row, key)
        entries.objects.bulk_update(rows, ["digest"])
        last = rows[-1].id
    while chain.seal_batch(entries, heads):
        pass


class Migration(migrations.Migration):

    dependencies = [
        ("audit", "0002_chain"),
    ]

    operations = [
        migrations.RunPython(seal, migrations.RunPython.noop),
    ]
