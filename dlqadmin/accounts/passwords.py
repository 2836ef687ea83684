"""Check and change a user's own password."""

from __future__ import annotations

from django.contrib.auth import authenticate, update_session_auth_hash
from django.contrib.auth.models import User
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError as Invalid
from django.db import transaction
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request

from dlqadmin.audit.entries import record


def change(request: Request, current: str, new: str) -> None:
    """Change the password of the request's user.

    This session continues. The user's other sessions and all API tokens end. Raises ValidationError.
    """
    username = request.user.get_username()
    user = check_current(request, current, field="current")
    if new == current:
        raise ValidationError({"new": ["The new password must differ from the current one."]})
    try:
        validate_password(new, user)
    except Invalid as error:
        raise ValidationError({"new": error.messages}) from error
    with transaction.atomic():
        user.set_password(new)
        user.save(update_fields=["password"])
        record(user, "password changed", "user", username)
        update_session_auth_hash(request, user)


def check_current(request: Request, password: str, field: str, code: str | None = None) -> User:
    """Return the request's user if this is the password. Raises ValidationError, which names the body's field.

    A code is checked too if it is given. Raises AdmissionRefused for a wrong one.

    `authenticate()` checks it, so guesses count towards the limit of sign-ins.
    """
    username = request.user.get_username()
    user = authenticate(request, username=username, password=password, code=code, is_signed_in=True)
    if not isinstance(user, User) or user.pk != request.user.pk:
        raise ValidationError({field: ["The current password is wrong."]})
    return user
