"""URLs: the API with its schema and documentation, the admin, and the frontend for all other paths."""

from django.contrib import admin
from django.urls import include, path, re_path
from django.views.generic import RedirectView
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView

from dlqadmin.accounts.urls import pages as account_pages
from dlqadmin.overview.views import AliveView, PrometheusView
from dlqadmin.rest import pages, problems

api = [
    path("", include("dlqadmin.audit.urls")),
    path("", include("dlqadmin.accounts.urls")),
    path("", include("dlqadmin.notifications.urls")),
    path("", include("dlqadmin.alerts.urls")),
    path("", include("dlqadmin.people.urls")),
    path("", include("dlqadmin.deadletters.urls")),
    path("", include("dlqadmin.exports.urls")),
    path("", include("dlqadmin.schemas.urls")),
    path("", include("dlqadmin.replays.urls")),
    path("", include("dlqadmin.erasures.urls")),
    path("", include("dlqadmin.reports.urls")),
    path("", include("dlqadmin.overview.urls")),
    path("", include("dlqadmin.clusters.urls")),
    path("", include("dlqadmin.metrics.urls")),
    path("", include("dlqadmin.connectors.urls")),
    path("", include("dlqadmin.topics.urls")),
    path("", include("dlqadmin.dialects.urls")),
]

urlpatterns = [
    path("api/v1/", include(api)),
    path("api/schema", SpectacularAPIView.as_view(), name="schema"),
    path("api/docs", SpectacularSwaggerSplitView.as_view(), name="api-docs"),
    re_path(r"^api(/|$)", problems.not_found),
    path("", include(account_pages)),
    # Addresses that people and load balancers try first.
    path("docs", RedirectView.as_view(pattern_name="api-docs")),
    path("health", RedirectView.as_view(pattern_name="health")),
    path("healthz", AliveView.as_view(schema=None)),
    # Django's own form would check the current password without a limit or an audit entry; the profile does not.
    path("admin/password_change/", RedirectView.as_view(url="/profile")),
    path("admin/", admin.site.urls),
    path("metrics", PrometheusView.as_view()),
    path("assets/<str:name>", pages.asset),
    re_path(r"^(?!static/|assets/).*$", pages.frontend),
]

handler400 = problems.bad_request
handler403 = problems.permission_denied
handler404 = problems.not_found
handler500 = problems.server_error
