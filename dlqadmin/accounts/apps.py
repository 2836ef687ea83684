"""The Django app of user accounts."""

from django.apps import AppConfig
from django.core.exceptions import ImproperlyConfigured


class AccountsConfig(AppConfig):
    name = "dlqadmin.accounts"
    label = "accounts"
    verbose_name = "Accounts"

    def ready(self) -> None:
        from django.contrib import admin

        from dlqadmin.accounts import (
            providers,
            receivers,  # noqa: F401  # connects its receivers
        )
        from dlqadmin.accounts.forms import LimitedSignInForm

        if problem := next(providers.problems(), None):
            raise ImproperlyConfigured(problem)
        admin.site.login_form = LimitedSignInForm
