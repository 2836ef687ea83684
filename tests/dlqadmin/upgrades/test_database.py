"""The database of each earlier release becomes that of this one, and the dashboard answers from it."""

from __future__ import annotations

import gzip
import json
import os
import sqlite3
import subprocess
import sys
import tarfile
from contextlib import closing
from pathlib import Path

import pytest

from demo.postgres import LocalPostgres
from tests.dlqadmin.upgrades.record import POSTGRES, PRODUCT, RELEASE

ROOT = Path(__file__).parents[3]
RELEASES = sorted(path.parent for path in Path(__file__).parent.glob(f"*/{RELEASE}"))
TABLES = ("deadletters_deadletter", "deadletters_group", "replays_replay", "auth_user")


def run(url: str, *words: str) -> str:
    """Run Python with these words on this database; return what it prints."""
    env = {**os.environ, "DATABASE_URL": url, "DJANGO_SETTINGS_MODULE": "dlqadmin.settings"}
    done = subprocess.run(
        [sys.executable, *words], cwd=ROOT, env=env, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def migrate_and_ask(url: str) -> None:
    """Migrate the database, and check that no screen fails on it."""
    run(url, "manage.py", "migrate")
    assert "[ ]" not in run(url, "manage.py", "showmigrations")
    answers: dict[str, int] = json.loads(run(url, "-m", "tests.dlqadmin.upgrades.answers").splitlines()[-1])
    assert {path: status for path, status in answers.items() if status >= 500 and status != 503} == {}
    for path in ("/api/v1/ready", "/api/v1/groups", "/api/v1/dead-letters", "/api/v1/replays", "/api/v1/teams"):
        assert answers[path] == 200
    assert any(path.startswith("/api/v1/replays/") for path in answers)


def test_there_is_a_recorded_release() -> None:
    assert RELEASES


@pytest.mark.slow
@pytest.mark.parametrize("release", RELEASES, ids=lambda path: path.name)
def test_a_sqlite_database_is_migrated_and_answers(release: Path, tmp_path: Path) -> None:
    with tarfile.open(release / PRODUCT) as archive:
        archive.extract("./dlqadmin.sqlite3", tmp_path, filter="data")
    file = tmp_path / "dlqadmin.sqlite3"

    def counts() -> dict[str, int]:
        with closing(sqlite3.connect(file)) as database:
            return {name: database.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in TABLES}

    before = counts()
    assert all(before.values())
    migrate_and_ask(f"sqlite:///{file}")
    assert counts() == before


@pytest.mark.slow
@pytest.mark.parametrize("release", RELEASES, ids=lambda path: path.name)
def test_a_postgresql_database_is_migrated_and_answers(release: Path) -> None:
    server = LocalPostgres().start()
    try:
        dump = gzip.decompress((release / POSTGRES).read_bytes())
        command = ["psql", "--quiet", "--set", "ON_ERROR_STOP=1", server.url]
        subprocess.run(command, input=dump, check=True, capture_output=True)
        migrate_and_ask(server.url)
    finally:
        server.stop()
