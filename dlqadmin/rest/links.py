"""Addresses of the dashboard's pages, for links that leave it."""

from __future__ import annotations

from django.conf import settings
from rest_framework.request import Request


def page_link(request: Request, path: str) -> str:
    """Return the absolute address of a page, which begins with DLQADMIN_URL.

    Only without that setting, the address has the host of the request. A client or a proxy can choose that host.
    """
    return f"{settings.DLQADMIN_URL}{path}" if settings.DLQADMIN_URL else request.build_absolute_uri(path)
