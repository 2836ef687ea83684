from django.apps import AppConfig


class AlertsConfig(AppConfig):
    name = "dlqadmin.alerts"
    label = "alerts"
    verbose_name = "Alerts"
