"""URLs of the metrics."""

from django.urls import path

from dlqadmin.metrics import views

urlpatterns = [
    path("metrics/balance", views.BalanceView.as_view(), name="metrics-balance"),
    path("metrics/connector", views.ConnectorHistoryView.as_view(), name="metrics-connector"),
    path("metrics/errors", views.ErrorsView.as_view(), name="metrics-errors"),
    path("metrics/heat", views.HeatView.as_view(), name="metrics-heat"),
    path("metrics/open-work", views.OpenWorkView.as_view(), name="metrics-open-work"),
    path("metrics/stages", views.StagesView.as_view(), name="metrics-stages"),
    path("metrics/trends", views.TrendsView.as_view(), name="metrics-trends"),
]
