from django.apps import AppConfig


class TopicsConfig(AppConfig):
    name = "dlqadmin.topics"
    label = "topics"
    verbose_name = "Topics"
