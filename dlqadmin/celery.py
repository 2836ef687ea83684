"""The Celery application; a worker runs it with `celery -A dlqadmin.celery worker`.

It is one of INSTALLED_APPS, so that every process of Django queues its tasks where the workers look.
Programs without Django, such as `dlq`, don't load Celery.
"""

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dlqadmin.settings")

app = Celery("dlqadmin")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
