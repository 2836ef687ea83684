from django.apps import AppConfig


class MetricsConfig(AppConfig):
    name = "dlqadmin.metrics"
    label = "metrics"
    verbose_name = "Metrics"
