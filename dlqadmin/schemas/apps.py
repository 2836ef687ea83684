from django.apps import AppConfig
from django.core.exceptions import ImproperlyConfigured


class SchemasConfig(AppConfig):
    name = "dlqadmin.schemas"
    label = "schemas"

    def ready(self) -> None:
        from dlqadmin.schemas import registries

        if problem := next(registries.problems_of_environment(), None):
            raise ImproperlyConfigured(problem)
