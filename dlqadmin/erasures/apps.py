from django.apps import AppConfig


class ErasuresConfig(AppConfig):
    name = "dlqadmin.erasures"
    label = "erasures"
