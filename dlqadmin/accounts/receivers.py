"""Signal receivers that start, keep and end sessions and API tokens when users change."""

from __future__ import annotations

import time
from typing import Any

from django.contrib.auth.hashers import get_hasher, identify_hasher
from django.contrib.auth.models import User
from django.contrib.auth.signals import user_logged_in
from django.db.models.signals import post_save, pre_save
from django.dispatch import receiver
from django.http import HttpRequest
from django.utils import timezone

from dlqadmin.accounts import session_limits, tokens
from dlqadmin.accounts.models import ApiToken
from dlqadmin.accounts.sessions import end_sessions


@receiver(user_logged_in)
def begin_session(request: HttpRequest, **kwargs: Any) -> None:
    """Start the limits of a session under a new key, however the user signed in.

    Django itself keeps the key if the same user signs in again.
    """
    request.session.cycle_key()
    request.session.set_expiry(None)  # a sign-in with a provider that was begun before may have set a short one
    session_limits.start_limits(request.session, time.time())


@receiver(post_save, sender=User)
def end_access(instance: User, update_fields: frozenset[str] | None, **kwargs: Any) -> None:
    """End a user's tokens when the password changes, and tokens and sessions with the account.

    Django itself ends sessions after a password change, because they contain a hash of it.
    """
    if update_fields is not None and not update_fields & {"password", "is_active"}:
        return
    tokens.end_outdated(instance, timezone.now())
    if not instance.is_active:
        end_sessions(instance)


@receiver(pre_save, sender=User)
def keep_tokens_at_rehash(instance: User, update_fields: frozenset[str] | None, **kwargs: Any) -> None:
    """Keep tokens when Django only rehashes the same password.

    Django does so at a sign-in after an upgrade of its hasher. It then leaves `_password` empty,
    while `set_password` sets it.
    """
    if update_fields != frozenset({"password"}) or instance._password is not None:  # type: ignore[attr-defined]  # noqa: SLF001
        return
    before = User.objects.filter(pk=instance.pk).values_list("password", flat=True).first()
    if before and _is_outdated(before):
        kept = ApiToken.objects.filter(owner=instance, password_digest=tokens.digest_of(before))
        kept.update(password_digest=tokens.digest_of(instance.password))


def _is_outdated(password: str) -> bool:
    """Return whether a stored password hash has another hasher or strength than new ones."""
    try:
        hasher = identify_hasher(password)
    except ValueError:  # an unusable password
        return False
    return hasher.algorithm != get_hasher().algorithm or hasher.must_update(password)
