from django.apps import AppConfig
from django.core.exceptions import ImproperlyConfigured


class ClustersConfig(AppConfig):
    name = "dlqadmin.clusters"
    label = "clusters"

    def ready(self) -> None:
        from dlqadmin.broker import cluster_settings

        if problem := next(cluster_settings.problems_of_environment(), None):
            raise ImproperlyConfigured(problem)
