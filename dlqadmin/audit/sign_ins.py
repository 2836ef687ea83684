"""Audit entries of sign-ins, failed sign-ins and sign-outs, through any entry point."""

from __future__ import annotations

from typing import Any

from django.contrib.auth import get_user_model
from django.contrib.auth.models import User
from django.contrib.auth.signals import user_logged_in, user_logged_out, user_login_failed

from dlqadmin.audit.entries import record

SHOWN = 2


def watch() -> None:
    """Connect the receivers of Django's signals."""
    user_logged_in.connect(_record_sign_in, dispatch_uid="audit")
    user_login_failed.connect(_record_failure, dispatch_uid="audit")
    user_logged_out.connect(_record_sign_out, dispatch_uid="audit")


def sign_in_path(request: Any) -> str | None:
    """Return the path of the sign-in request; None without a request."""
    return getattr(request, "path", None)


def shown_account(name: str) -> str:
    """Return the name of an existing account, else only the first characters of the name.

    People sometimes type their password as the name, and all users with a role can read the audit trail.
    """
    if get_user_model().objects.filter(username=name).exists():
        return name
    return f"unknown account {name[:SHOWN]}…"


def _record_sign_in(sender: Any, request: Any, user: User, **kwargs: Any) -> None:
    detail = {"door": sign_in_path(request)}
    if provider := getattr(request, "sign_in_provider", None):  # set by a sign-in with an OpenID provider
        detail["provider"] = provider
    record(user, "signed in", "session", user.get_username(), detail)


def _record_failure(sender: Any, credentials: dict[str, Any], request: Any = None, **kwargs: Any) -> None:
    name = str(credentials.get(User.USERNAME_FIELD) or "")
    record("", "sign-in failed", "session", shown_account(name), {"door": sign_in_path(request)})


def _record_sign_out(sender: Any, request: Any, user: User | None, **kwargs: Any) -> None:
    if user is not None and user.pk:
        record(user, "signed out", "session", user.get_username(), {"door": sign_in_path(request)})
