"""What migrations do to the tables of dead letters, read as the SQL that PostgreSQL would be given."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection, connections, transaction
from django.db.backends.postgresql.base import DatabaseWrapper
from django.db.migrations.loader import MigrationLoader
from environ import Env

from dlqadmin.deadletters.models import DeadLetter, DeadLetterBody, Fingerprint
from dlqadmin.host.network import wait_until
from tests.dlqadmin.deadletters.conftest import Beside

pytestmark = pytest.mark.sql

LARGE = ("deadletter", "deadletterbody", "deadlettertext", "trace", "counthour", "countday")
# What needs no look at the rows, or lets others write meanwhile.
QUIET = (
    r'ALTER TABLE "\w+" ADD COLUMN "\w+" [\w()]+ NULL',
    r'CREATE TABLE "\w+" .*',
    r'INSERT INTO "deadletters_replaymark" .* WHERE NOT \("replay_state" = \'none\'\)',
    r'ALTER TABLE "\w+" DROP COLUMN "\w+" CASCADE',
    r'ALTER TABLE "\w+" DROP CONSTRAINT \w+',
    r'CREATE (UNIQUE )?INDEX CONCURRENTLY "\w+" ON .*',
    r'DO \$\$ BEGIN IF EXISTS \(.*\) THEN ALTER TABLE "\w+" ALTER COLUMN "\w+" SET COMPRESSION lz4; END IF; END \$\$',
    r"\s*INSERT INTO deadletters_originsource .*",  # reads only
    r"CREATE STATISTICS .*|ANALYZE .*",
    r"\s*CREATE (FUNCTION|TRIGGER) deadletters_\w+.*",
    r'\s*INSERT INTO "deadletters_workchange" .*',  # reads only
    r"DO \$\$ DECLARE .*; EXECUTE format\('ALTER TABLE \"\w+\" DROP CONSTRAINT %I', found\); END \$\$",
)


def statements(postgres: DatabaseWrapper) -> Iterator[tuple[str, str]]:
    """(migration, statement) of every migration after the first that names a table of dead letters."""
    loader = MigrationLoader(None)
    nodes = [node for node in loader.graph.leaf_nodes() if node[0] == "deadletters"]
    state = loader.project_state([])
    for label, name in loader.graph.forwards_plan(nodes[0]):
        with postgres.schema_editor(collect_sql=True, atomic=False) as editor:
            state = loader.graph.nodes[label, name].apply(state, editor, collect_sql=True)
        made = set(re.findall(r'CREATE TABLE "(\w+)"', " ".join(editor.collected_sql)))
        for statement in editor.collected_sql:
            tables = {f"deadletters_{table}" for table in LARGE} & set(re.findall(r'"(\w+)"', statement)) - made
            if label == "deadletters" and name != "0001_initial" and tables and not statement.startswith("--"):
                yield name, statement.rstrip(";")


@pytest.fixture
def postgres(postgres_url: str, django_db_blocker: Any) -> Iterator[DatabaseWrapper]:
    given = {**connections["default"].settings_dict, **Env.db_url_config(postgres_url), "OPTIONS": {}}
    wrapper = DatabaseWrapper(given)
    with django_db_blocker.unblock():
        yield wrapper
        wrapper.close()


@pytest.mark.slow
def test_no_migration_keeps_the_indexer_waiting_for_millions_of_rows(postgres: DatabaseWrapper) -> None:
    found = list(statements(postgres))
    assert {name for name, _ in found} >= {"0002_replayed_records", "0004_text", "0011_unchecked_references"}
    assert [row for row in found if not any(re.fullmatch(one, row[1], re.DOTALL) for one in QUIET)] == []


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("several_writers")
def test_references_go_while_the_indexer_is_in_the_middle_of_a_batch(beside: Beside) -> None:
    call_command("migrate", "deadletters", "0010", verbosity=0)
    try:
        with transaction.atomic():
            assert not DeadLetter.objects.exists()
            going = beside(lambda: call_command("migrate", "deadletters", verbosity=0))
            wait_until(_somebody_waits, "The migration", 60, 0.05)
            assert not Fingerprint.objects.exists()
            assert not DeadLetterBody.objects.exists()
        going.result(60)
    finally:
        # All apps: those that depend on dead letters went back as well.
        call_command("migrate", verbosity=0)


def _somebody_waits() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1 FROM pg_locks WHERE NOT granted")
        return cursor.fetchone() is not None
