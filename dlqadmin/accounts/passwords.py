"""Change a user's own password."""

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

    This session continues. The user's other sessions and all API tokens end. `authenticate()` checks the
    current password, so guesses count towards the limit of sign-ins. Raises ValidationError.
    """
    username = request.user.get_username()
    user = authenticate(request, username=username, password=current)
    if not isinstance(user, User) or user.pk != request.user.pk:
        raise ValidationError({"current": ["The current password is wrong."]})
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
