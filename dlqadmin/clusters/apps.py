from django.apps import AppConfig
from django.core.exceptions import ImproperlyConfigured


class ClustersConfig(AppConfig):
    name = "dlqadmin.clusters"
    label = "clusters"

    def ready(self) -> None:
        from dlqadmin.broker import clusters

        if problem := next(clusters.problems(), None):
            raise ImproperlyConfigured(problem)
