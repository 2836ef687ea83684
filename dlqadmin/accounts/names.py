"""User names, as the API shows them."""

from __future__ import annotations

from django.contrib.auth.models import AbstractBaseUser


def username(user: AbstractBaseUser | None) -> str | None:
    """Return a user's name, or None if the account was deleted."""
    return user.get_username() if user else None
