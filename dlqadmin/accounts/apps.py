"""The Django app of user accounts."""

from django.apps import AppConfig


class AccountsConfig(AppConfig):
    name = "dlqadmin.accounts"
    label = "accounts"
    verbose_name = "Accounts"

    def ready(self) -> None:
        from dlqadmin.accounts import receivers  # noqa: F401  # connects its receivers
