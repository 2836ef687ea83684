from django.apps import AppConfig


class OverviewConfig(AppConfig):
    name = "dlqadmin.overview"
    label = "overview"
    verbose_name = "Overview"

    def ready(self) -> None:
        from dlqadmin.overview import full_disk, prometheus, worker_heartbeats

        prometheus.register()
        worker_heartbeats.watch()
        full_disk.watch()
