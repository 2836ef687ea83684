"""The Django app of masking rules."""

from django.apps import AppConfig


class MaskingConfig(AppConfig):
    name = "dlqadmin.masking"
    label = "masking"
    verbose_name = "Masking"
