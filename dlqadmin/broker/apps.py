from django.apps import AppConfig


class BrokerConfig(AppConfig):
    name = "dlqadmin.broker"
    label = "broker"
