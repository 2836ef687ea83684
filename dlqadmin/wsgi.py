"""The dashboard as a WSGI application, for servers that know nothing else."""

import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dlqadmin.settings")

django_application = get_wsgi_application()

from dlqadmin import tracing  # noqa: E402
from dlqadmin.accounts.body_limits import LimitedWsgi  # noqa: E402, its imports need Django's settings
from dlqadmin.logs.context import set_process  # noqa: E402

set_process("web")
tracing.start()
application = LimitedWsgi(django_application)
