"""The Celery application; a worker runs it with `celery -A dlqadmin.celery worker`.

It is one of INSTALLED_APPS, so that every process of Django queues its tasks where the workers look.
Programs without Django, such as `dlq`, don't load Celery.
"""

import logging
import os
from contextlib import ExitStack
from typing import Any

from celery import Celery, Task
from celery.signals import (
    beat_init,
    before_task_publish,
    celeryd_init,
    setup_logging,
    task_postrun,
    task_prerun,
    worker_init,
)
from django.conf import settings
from django.utils.log import configure_logging

from dlqadmin import tracing
from dlqadmin.logs import context
from dlqadmin.logs.context import given_or_new_id

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dlqadmin.settings")

LOG_IDS = "log_ids"  # the attribute of a task's request that ends the ids of its lines

app = Celery("dlqadmin")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


@celeryd_init.connect
def begin_worker_log(**_: object) -> None:
    """Log as a worker, before Celery warns of the first thing, and trace."""
    context.set_process("worker")
    _configure_logging()
    tracing.start()


@worker_init.connect
def start_worker(**_: object) -> None:
    """Refuse to work on a database that lacks migrations."""
    _require_migrations()


@beat_init.connect
def start_beat(**_: object) -> None:
    """Refuse to queue tasks for a database that lacks migrations."""
    _require_migrations()


@setup_logging.connect
def log_as_the_settings_say(loglevel: int, **_: object) -> None:
    """Log in the format of LOG_FORMAT instead of Celery's own. `--loglevel` is the level of Celery's own lines."""
    if context.process() == context.COMMAND:  # beat, which has no earlier signal
        context.set_process("beat")
    _configure_logging()
    logging.getLogger("celery").setLevel(loglevel)


@before_task_publish.connect
def send_request_id(headers: dict[str, Any], **_: object) -> None:
    """Send the id of the request that queues a task, and the span, with the task's message."""
    headers.update(tracing.headers())
    if found := context.request_id():
        headers["request_id"] = found


@task_prerun.connect
def begin_task_lines(task: Task[..., Any], task_id: str, **_: object) -> None:
    """Add the ids of the task, and of the request that queued it, to the lines of this thread, and begin its span."""
    given = task.request.get("request_id")
    of_request = {"request_id": given_or_new_id(given)} if given else {}
    ids = ExitStack()
    ids.enter_context(context.bound(task=task.name, task_id=task_id, **of_request))
    parent = {name: value for name in tracing.HEADERS if isinstance(value := task.request.get(name), str)}
    ids.enter_context(tracing.span(task.name, tracing.CONSUMER, parent))
    task.request.__dict__[LOG_IDS] = ids


@task_postrun.connect
def end_task_lines(task: Task[..., Any], **_: object) -> None:
    """Remove the ids of the task, because the thread runs other tasks next, and end its span."""
    if (ids := task.request.get(LOG_IDS)) is not None:
        ids.close()


def _configure_logging() -> None:
    configure_logging(settings.LOGGING_CONFIG, settings.LOGGING)
    logging.captureWarnings(capture=True)


def _require_migrations() -> None:
    from dlqadmin.rest import migrations_state  # imported late, because its imports need Django's settings

    migrations_state.require_migrations()
