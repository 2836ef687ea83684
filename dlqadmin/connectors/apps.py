from django.apps import AppConfig
from django.core.exceptions import ImproperlyConfigured


class ConnectorsConfig(AppConfig):
    name = "dlqadmin.connectors"
    label = "connectors"
    verbose_name = "Connectors"

    def ready(self) -> None:
        from dlqadmin.connectors import connect_clusters

        if problem := next(connect_clusters.problems(), None):
            raise ImproperlyConfigured(problem)
