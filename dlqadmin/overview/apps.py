from django.apps import AppConfig


class OverviewConfig(AppConfig):
    name = "dlqadmin.overview"
    label = "overview"
    verbose_name = "Overview"
