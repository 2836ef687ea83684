"""An evaluator in a process of its own that is killed before its commit."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.db import connection

from tests.support import schema_template

pytestmark = [pytest.mark.slow, pytest.mark.django_db]  # the database makes the template
ROOT = Path(__file__).parents[3]
BEGIN = """import json, sys, time
import django
django.setup()
from dlqadmin.alerts import evaluation
from dlqadmin.alerts.models import AlertFiring, AlertNotice
from dlqadmin.notifications import tasks
from dlqadmin.notifications.models import ChannelDelivery
from tests.dlqadmin.alerts.rigs import rule, tick
from tests.dlqadmin.deadletters.letters import index, letter
tasks.enqueue_delivery = lambda pk: None  # no message queue
"""
# All of the transaction is written, and nothing is committed.
HANG = f"""{BEGIN}
rule()
index([letter(0)])
finish = evaluation._finish
def hang(now):
    sent = finish(now)
    print(json.dumps([sent, ChannelDelivery.objects.count()]), flush=True)
    time.sleep(60)
evaluation._finish = hang
tick()
"""
RESTART = f"""{BEGIN}
left = [AlertFiring.objects.count(), AlertNotice.objects.count(), ChannelDelivery.objects.count()]
sent = [tick() for _ in range(2)]
print(json.dumps([left, sent, list(ChannelDelivery.objects.values_list("event", flat=True))]), flush=True)
"""


def test_an_evaluator_killed_before_its_commit_sends_its_message_once_after_a_restart(tmp_path: Path) -> None:
    for url in _database(tmp_path):
        with _start(HANG, url, tmp_path) as process:
            assert process.stdout
            assert json.loads(process.stdout.readline()) == [1, 1]
            assert process.poll() is None
            process.send_signal(signal.SIGKILL)
        with _start(RESTART, url, tmp_path) as process:
            said: Any = json.loads(process.communicate()[0])
        assert said == [[0, 0, 0], [1, 0], ["alert.opened"]]


def _start(script: str, url: str, home: Path) -> subprocess.Popen[str]:
    own = {"DATABASE_URL": url, "DJANGO_SETTINGS_MODULE": "dlqadmin.settings"}
    env = {**os.environ, "SECRET_KEY": "k" * 50, "LOCAL_DIR": str(home), **own}
    command = [sys.executable, "-c", script]
    pipe, null = subprocess.PIPE, subprocess.DEVNULL
    return subprocess.Popen(command, cwd=ROOT, env=env, stdout=pipe, stderr=null, text=True)


def _database(home: Path) -> Iterator[str]:
    """Yield the URL of a migrated database of the kind that the tests run on, without rows."""
    if connection.vendor == "sqlite":
        url = f"sqlite:///{home}/alerts.sqlite3"
        schema_template.migrate({**os.environ, "DATABASE_URL": url})
        yield url
        return
    server = os.environ["DATABASE_URL"]
    with psycopg.connect(server, autocommit=True) as admin:
        admin.execute("CREATE DATABASE killed_evaluator")
        url = f"{server.rpartition('/')[0]}/killed_evaluator"
        schema_template.migrate({**os.environ, "DATABASE_URL": url})
        yield url
        admin.execute("DROP DATABASE killed_evaluator WITH (FORCE)")
