"""The authentication backend of all entrances: passwords with their limits, then the second factor."""

from __future__ import annotations

import time
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.http import HttpRequest
from rest_framework.exceptions import AuthenticationFailed

from dlqadmin.accounts import two_factor
from dlqadmin.audit.backend import LimitedBackend
from dlqadmin.audit.entries import record
from dlqadmin.audit.sign_ins import sign_in_path


class AdmissionRefused(AuthenticationFailed):
    """The password is right, but the sign-in is refused. `problem_code` names the reason."""

    def __init__(self, detail: str, problem_code: str) -> None:
        super().__init__(detail)
        self.problem_code = problem_code


def needs_password_alone(user: User) -> bool:
    """Return whether the user may sign in with nothing but a password, as a link of an invitation does."""
    return (settings.LOCAL_SIGN_IN or user.is_superuser) and not two_factor.is_enabled(user)


class AccountBackend(LimitedBackend):
    """Django's users, passwords and permissions, with limits on tries, and codes of authenticator apps."""

    def check_admission(
        self,
        request: HttpRequest | None,
        user: User,
        *,
        code: str | None = None,
        is_signed_in: bool = False,
        **kwargs: Any,
    ) -> bool:
        """Refuse a local sign-in that settings switch off, or that lacks a valid code. Raises AdmissionRefused.

        `is_signed_in` is for users who confirm their password within a session. Only a given code is checked then.
        A password without the code of the account clears no tries: somebody who knows it could guess codes for ever.
        """
        if is_signed_in and code is None:
            return not two_factor.is_enabled(user)
        if not is_signed_in and not settings.LOCAL_SIGN_IN and not user.is_superuser:
            self._refuse(request, user, "local sign-in is off")
            raise AdmissionRefused("Sign in with a provider. Passwords are only for superusers.", "local_sign_in_off")
        if not user.is_active or not two_factor.is_enabled(user):
            return True
        if not code:
            raise AdmissionRefused("This account needs a code of its authenticator app.", "code_required")
        if not two_factor.accept(user, code, time.time()):
            self._refuse(request, user, "wrong code")
            raise AdmissionRefused("The code is wrong, or was used already.", "code_wrong")
        return True

    def _refuse(self, request: HttpRequest | None, user: User, why: str) -> None:
        detail = {"door": sign_in_path(request), "why": why}
        record("", "sign-in failed", "session", user.get_username(), detail)
