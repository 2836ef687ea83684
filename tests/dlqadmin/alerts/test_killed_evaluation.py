"""A worker that is killed while its transaction is open: nothing is stored, and the next worker tells once."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from django.conf import settings
from django.db import connection

from dlqadmin.alerts.models import AlertFiring
from dlqadmin.notifications.models import ChannelDelivery
from tests.dlqadmin.alerts.rigs import rule, tick
from tests.dlqadmin.deadletters.letters import NOW, index, letter

pytestmark = [pytest.mark.sql, pytest.mark.django_db(transaction=True)]
# Evaluates until the deliveries are written, says so, and waits within the transaction.
EVALUATES = """
import sys, threading
from datetime import datetime
import django
django.setup()
from dlqadmin.alerts import evaluation, notices
from dlqadmin.notifications.models import ChannelDelivery
queue = notices.send_due
def wait(now):
    queue(now)
    print(ChannelDelivery.objects.count(), flush=True)
    threading.Event().wait()
notices.send_due = wait
evaluation.RuleEvaluator().run(datetime.fromisoformat(sys.argv[1]))
"""


@pytest.mark.usefixtures("several_writers")
def test_an_evaluation_that_is_killed_before_its_commit_is_told_once_by_the_next() -> None:
    rule(tells=(("ops", False), ("mail", False)))
    index([letter(0)])
    own = connection.settings_dict
    url = f"postgres://{own['USER']}:{own['PASSWORD']}@{own['HOST']}:{own['PORT']}/{own['NAME']}"
    environment = os.environ | {"DATABASE_URL": url, "DJANGO_SETTINGS_MODULE": "dlqadmin.settings"}
    with subprocess.Popen(
        [sys.executable, "-c", EVALUATES, NOW.isoformat()],
        env=environment, cwd=settings.BASE_DIR, stdout=subprocess.PIPE, text=True,
    ) as worker:  # fmt: skip
        assert worker.stdout is not None
        assert worker.stdout.readline().strip() == "2"
        worker.kill()
    assert (AlertFiring.objects.count(), ChannelDelivery.objects.count()) == (0, 0)
    assert tick() == 2
    assert AlertFiring.objects.count() == 1
    assert sorted(ChannelDelivery.objects.values_list("channel__name", flat=True)) == ["mail", "ops"]
