"""Middleware that adds security and caching headers to every response."""

from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils.deprecation import MiddlewareMixin

from dlqadmin.rest import pages

BUILD_HEADER = "X-Frontend-Build"
NEVER_STORED = (
    "/api/",
    "/metrics",
    "/sign-in/",
    "/sign-out",
)  # no-store, because a browser's cache outlives the session
PERMISSIONS_POLICY = "camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()"


class ContentSecurityPolicyMiddleware(MiddlewareMixin):
    """Middleware that adds the headers, among them `settings.CONTENT_SECURITY_POLICY`."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        super().__init__(get_response)
        self.policy = "; ".join(f"{name} {value}" for name, value in settings.CONTENT_SECURITY_POLICY.items())

    def process_response(self, request: HttpRequest, response: HttpResponse) -> HttpResponse:
        response.headers.setdefault("Content-Security-Policy", self.policy)
        response.headers.setdefault("Cross-Origin-Resource-Policy", "same-origin")
        response.headers.setdefault("Permissions-Policy", PERMISSIONS_POLICY)
        if request.path.startswith(NEVER_STORED):
            response.headers["Cache-Control"] = "no-store"
            if build := pages.frontend_build():
                response.headers[BUILD_HEADER] = build
        return response
