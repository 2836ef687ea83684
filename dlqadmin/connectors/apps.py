from django.apps import AppConfig


class ConnectorsConfig(AppConfig):
    name = "dlqadmin.connectors"
    label = "connectors"
    verbose_name = "Connectors"
