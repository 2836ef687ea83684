"""The Django app of the dead letter index."""

from django.apps import AppConfig


class DeadLettersConfig(AppConfig):
    name = "dlqadmin.deadletters"
    label = "deadletters"
    verbose_name = "Dead letters"
    default_auto_field = "django.db.models.BigAutoField"
