"""The Celery application; a worker runs it with `celery -A dlqadmin.celery worker`."""

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dlqadmin.settings")

app = Celery("dlqadmin")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
