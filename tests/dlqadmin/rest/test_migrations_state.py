"""No process works on a database that lacks the tables of its version."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.db import OperationalError
from django.db.migrations.recorder import MigrationRecorder
from rest_framework.test import APIClient

from dlqadmin.rest import migrations_state

ROOT = Path(__file__).parents[3]
CELERY = ("-m", "celery", "--quiet", "-A", "dlqadmin.celery")


@pytest.fixture(autouse=True)
def unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is known of the database yet."""
    monkeypatch.setattr(migrations_state._Known, "is_migrated", False)


@pytest.mark.django_db
def test_the_web_process_is_ready_with_a_database_that_has_every_migration(anonymous: APIClient) -> None:
    assert anonymous.get("/api/v1/ready").json() == {"ready": True}


@pytest.mark.django_db
def test_the_web_process_is_not_ready_while_a_migration_is_missing(anonymous: APIClient) -> None:
    MigrationRecorder.Migration.objects.filter(app="masking").delete()
    answer = anonymous.get("/api/v1/ready")
    assert answer.status_code == 503
    assert answer.json()["detail"] == (
        "The database lacks the migrations masking.0001_initial: run `dlqadmin manage migrate` with this version."
    )


def test_a_database_that_does_not_answer_ends_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    def away() -> str:
        raise OperationalError("connection refused")

    monkeypatch.setattr(migrations_state, "refusal", away)
    migrations_state.require_migrations()


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [
        ("manage.py", "index_deadletters"),
        (*CELERY, "worker", "--pool", "solo"),
        (*CELERY, "beat", "--schedule", "{folder}/beat", "--pidfile="),
    ],
    ids=["indexer", "worker", "beat"],
)
def test_a_process_ends_with_one_sentence_on_a_database_without_migrations(
    command: tuple[str, ...], tmp_path: Path
) -> None:
    words = [word.format(folder=tmp_path) for word in command]
    env = {**os.environ, "DATABASE_URL": f"sqlite:///{tmp_path}/empty.sqlite3"}
    done = subprocess.run(
        [sys.executable, *words], cwd=ROOT, env=env, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 1
    *_, last = (done.stdout + done.stderr).strip().splitlines()
    assert "The database lacks the migrations " in last  # beat puts a time before it
    assert last.endswith(" more: run `dlqadmin manage migrate` with this version.")
