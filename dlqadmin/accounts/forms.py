"""The admin's sign-in form."""

from __future__ import annotations

from typing import Any

from django.contrib.admin.forms import AdminAuthenticationForm
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError

from dlqadmin.accounts.backend import AdmissionRefused
from dlqadmin.audit.entries import record
from dlqadmin.audit.sign_in_limits import TooManyTries
from dlqadmin.audit.sign_ins import sign_in_path


class LimitedSignInForm(AdminAuthenticationForm):
    """A sign-in form that tells how long to wait after too many tries.

    It has no field for a code. The dashboard's own page has one, and both share the session.
    """

    def clean(self) -> dict[str, Any]:
        try:
            return super().clean()
        except TooManyTries as refusal:
            raise ValidationError(str(refusal.detail), code="throttled") from refusal
        except AdmissionRefused as refusal:
            where = "Sign in on the dashboard's own page, then open this page again."
            raise ValidationError(f"{refusal.detail} {where}", code="admission") from refusal

    def confirm_login_allowed(self, user: User) -> None:
        try:
            super().confirm_login_allowed(user)
        except ValidationError:  # the password was right, and Django sends no signal
            record(
                "",
                "sign-in failed",
                "session",
                user.get_username(),
                {"door": sign_in_path(self.request), "why": "not staff"},
            )
            raise
