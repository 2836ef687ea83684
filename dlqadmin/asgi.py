"""The dashboard as an ASGI application."""

import os

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dlqadmin.settings")

django_application = get_asgi_application()

from dlqadmin.accounts.body_limits import LimitedAsgi  # noqa: E402, its imports need Django's settings

application = LimitedAsgi(django_application)
