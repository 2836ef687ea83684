"""The copy of the migrated schema that test processes begin with."""

from __future__ import annotations

import os
import re
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from django.db import connection

from tests.support.schema_template import ROOT, sources

MASTER = "SELECT type, name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite_%' ORDER BY type, name"
APPLIED = "SELECT app, name FROM django_migrations ORDER BY app, name"


def test_the_copy_depends_on_each_module_that_a_migration_imports() -> None:
    known = set(sources())
    texts = [path.read_text() for path in known if path.parent.name == "migrations"]
    imported = {
        (package, name.strip())
        for text in texts
        for package, names in re.findall(r"^from (dlqadmin[\w.]*) import (.+)$", text, re.MULTILINE)
        for name in names.split(",")
    }
    assert imported
    for package, name in imported:
        path = ROOT / package.replace(".", "/")
        assert known & {path.with_suffix(".py"), path / f"{name}.py"}, f"{package}.{name}"


@pytest.mark.slow
@pytest.mark.django_db
def test_the_test_database_has_the_schema_that_the_migrations_make(tmp_path: Path) -> None:
    if connection.vendor != "sqlite":
        pytest.skip("PostgreSQL runs the migrations")
    database = tmp_path / "migrated.sqlite3"
    env = {**os.environ, "DATABASE_URL": f"sqlite:///{database}", "LOCAL_DIR": str(tmp_path)}
    subprocess.run([sys.executable, "manage.py", "migrate", "--verbosity", "0"], cwd=ROOT, env=env, check=True)
    for query in (MASTER, APPLIED):
        with connection.cursor() as cursor, closing(sqlite3.connect(database)) as migrated:
            assert cursor.execute(query).fetchall() == migrated.execute(query).fetchall()
