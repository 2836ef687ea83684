from django.apps import AppConfig


class ExportsConfig(AppConfig):
    name = "dlqadmin.exports"
    label = "exports"
