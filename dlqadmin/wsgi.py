"""The dashboard as a WSGI application, for servers that know nothing else."""

import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dlqadmin.settings")

application = get_wsgi_application()
