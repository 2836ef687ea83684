"""The dashboard as an ASGI application."""

import os

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dlqadmin.settings")

django_application = get_asgi_application()

from dlqadmin import tracing  # noqa: E402
from dlqadmin.accounts.body_limits import LimitedAsgi  # noqa: E402, its imports need Django's settings
from dlqadmin.logs.context import set_process  # noqa: E402
from dlqadmin.rest.current_request import IdentifiedAsgi  # noqa: E402

set_process("web")
tracing.start()
application = IdentifiedAsgi(LimitedAsgi(django_application))
