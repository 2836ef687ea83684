from django.apps import AppConfig


class ReplaysConfig(AppConfig):
    name = "dlqadmin.replays"
    label = "replays"
