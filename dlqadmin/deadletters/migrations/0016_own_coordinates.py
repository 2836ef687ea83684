"""Rename `partition:` and `offset:` in stored queries, because they now mean the origin's coordinates."""

import re

from django.db import migrations
from django.http import QueryDict

# A term ends at a space outside quotes.
TERM = re.compile(r'(?:"(?:[^"\\]|\\.)*"|\S)+', re.DOTALL)
COORDINATE = re.compile(r"(-?)(|dlq_)(partition|offset):(?=.)", re.DOTALL)
FORWARDS = {"": "dlq_", "dlq_": "dlq_"}
BACKWARDS = {"": "origin_", "dlq_": ""}


def renamed(text, prefixes):
    """Return the query with other prefixes of its fields `partition` and `offset`."""

    def rename(term):
        found = COORDINATE.match(term[0])
        if found is None:
            return term[0]
        minus, prefix, name = found.groups()
        return f"{minus}{prefixes[prefix]}{name}:{term[0][found.end() :]}"

    return TERM.sub(rename, text)


def renamed_address(text, prefixes):
    """Return the query string of a list with its parameter `q` renamed."""
    params = QueryDict(text, mutable=True)
    if "q" not in params:
        return text
    params["q"] = renamed(params["q"], prefixes)
    return params.urlencode()


def rename_all(apps, prefixes):
    for model, rewritten in (
        (apps.get_model("deadletters", "SavedSearch"), renamed),
        (apps.get_model("exports", "Export"), renamed_address),
    ):
        for row in model.objects.only("query").order_by("pk"):
            text = rewritten(row.query, prefixes)
            if text != row.query:
                model.objects.filter(pk=row.pk).update(query=text)


def forwards(apps, schema_editor):
    rename_all(apps, FORWARDS)


def backwards(apps, schema_editor):
    rename_all(apps, BACKWARDS)


class Migration(migrations.Migration):
    dependencies = [("deadletters", "0015_work_before"), ("exports", "0002_job")]

    operations = [migrations.RunPython(forwards, backwards)]
