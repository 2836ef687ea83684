from django.apps import AppConfig


class DialectsConfig(AppConfig):
    name = "dlqadmin.dialects"
    label = "dialects"
    verbose_name = "Dialects"
