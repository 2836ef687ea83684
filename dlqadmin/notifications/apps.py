from django.apps import AppConfig


class NotificationsConfig(AppConfig):
    name = "dlqadmin.notifications"
    label = "notifications"
    verbose_name = "Notifications"
