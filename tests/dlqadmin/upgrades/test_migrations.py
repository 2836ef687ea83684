"""Every migration since the last release leaves a schema on which that release still runs."""

from __future__ import annotations

import gzip
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from django.db import migrations, models
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.operations.base import Operation
from django.db.migrations.state import ProjectState

from tests.dlqadmin.upgrades.record import POSTGRES
from tests.dlqadmin.upgrades.test_database import RELEASES

# Migrations that take away what the last release does not use any more: (app, name).
CONTRACTIONS: set[tuple[str, str]] = set()
TAKES_AWAY = (
    migrations.RemoveField,
    migrations.RenameField,
    migrations.DeleteModel,
    migrations.RenameModel,
    migrations.AlterModelTable,
)


def released() -> set[tuple[str, str]]:
    """Return the migrations of the last release, from the dump of its database."""
    last = max(RELEASES, key=lambda path: [int(number) for number in path.name.split(".")])
    with gzip.open(last / POSTGRES, "rt", encoding="utf-8") as dump:
        for line in dump:
            if line.startswith("COPY public.django_migrations "):
                break
        rows = [line.split("\t") for line in iter(dump.readline, "\\.\n")]
    return {(app, name) for _, app, name, *_ in rows}


def breaks(operations: Sequence[Operation], app: str, state: ProjectState) -> Iterator[str]:
    """Yield the operations after which an INSERT, UPDATE or SELECT of the last release would fail.

    `state` is the schema before them.
    """
    for one in operations:
        if isinstance(one, migrations.SeparateDatabaseAndState):
            yield from breaks(one.database_operations, app, state)
        elif isinstance(one, TAKES_AWAY) or (isinstance(one, migrations.AddField) and _is_required(one.field)):
            yield one.describe()
        elif isinstance(one, migrations.AlterField) and _is_required(one.field):
            known = state.models.get((app, one.model_name_lower))
            if known is None or known.fields[one.name].null:
                yield one.describe()


def _is_required(field: models.Field[Any, Any]) -> bool:
    """Return whether an INSERT that does not name the column fails."""
    return not (field.null or field.has_db_default() or field.many_to_many)


def test_the_last_release_runs_on_the_schema_of_this_version() -> None:
    loader, known = MigrationLoader(None), released()
    assert known & loader.disk_migrations.keys()
    found = []
    for key in sorted(loader.disk_migrations.keys() - known - CONTRACTIONS):
        one = loader.disk_migrations[key]
        if one.__module__.startswith("dlqadmin."):
            found += [f"{one}: {said}" for said in breaks(one.operations, key[0], loader.project_state(key, False))]
    assert not found, "Expand first, and contract one release later; CONTRIBUTING.md says how."


@pytest.mark.parametrize(
    "operation",
    [
        migrations.RemoveField("thing", "old"),
        migrations.RenameField("thing", "old", "new"),
        migrations.DeleteModel("Thing"),
        migrations.AddField("thing", "new", models.IntegerField(default=0)),
        migrations.AlterField("thing", "old", models.IntegerField(default=0)),
        migrations.SeparateDatabaseAndState([migrations.RemoveField("thing", "old")]),
    ],
    ids=lambda operation: operation.describe(),
)
def test_what_breaks_the_last_release_is_found(operation: Operation) -> None:
    state = ProjectState()
    migrations.CreateModel("Thing", [("old", models.IntegerField(null=True))]).state_forwards("app", state)
    assert list(breaks([operation], "app", state))


@pytest.mark.parametrize(
    "operation",
    [
        migrations.AddField("thing", "new", models.IntegerField(null=True)),
        migrations.AddField("thing", "new", models.IntegerField(db_default=0)),
        migrations.AlterField("thing", "old", models.BigIntegerField(null=True)),
        migrations.CreateModel("Other", [("new", models.IntegerField())]),
    ],
    ids=lambda operation: operation.describe(),
)
def test_what_only_adds_is_allowed(operation: Operation) -> None:
    state = ProjectState()
    migrations.CreateModel("Thing", [("old", models.IntegerField(null=True))]).state_forwards("app", state)
    assert not list(breaks([operation], "app", state))
