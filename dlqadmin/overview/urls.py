"""URLs of the overview and of health."""

from django.urls import path

from dlqadmin.overview import annotation_views, views

urlpatterns = [
    path("metrics/summary", views.SummaryView.as_view(), name="metrics-summary"),
    path("metrics/attention", views.AttentionView.as_view(), name="metrics-attention"),
    path("annotations", annotation_views.AnnotationListView.as_view(), name="annotations"),
    path("annotations/<int:pk>", annotation_views.AnnotationView.as_view(), name="annotation"),
    path("attention/dismissals", views.DismissalsView.as_view(), name="dismissals"),
    path("attention/<slug:finding>/dismissal", views.DismissalView.as_view(), name="dismissal"),
    path("teams/facts", views.TeamFactsView.as_view(), name="team-facts"),
    path("health", views.HealthView.as_view(), name="health"),
    path("live", views.LiveView.as_view(), name="live"),
    path("alive", views.AliveView.as_view(), name="alive"),
    path("ready", views.ReadyView.as_view(), name="ready"),
]
