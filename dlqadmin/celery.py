"""The Celery application; a worker runs it with `celery -A dlqadmin.celery worker`.

It is one of INSTALLED_APPS, so that every process of Django queues its tasks where the workers look.
Programs without Django, such as `dlq`, don't load Celery.
"""

import os

from celery import Celery
from celery.signals import beat_init, worker_init

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dlqadmin.settings")

app = Celery("dlqadmin")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


@worker_init.connect
@beat_init.connect
def require_migrations(**_: object) -> None:
    """Refuse to work on a database that lacks migrations."""
    from dlqadmin.rest import migrations_state  # imported late, because its imports need Django's settings

    migrations_state.require_migrations()
