"""Password authentication for the API, the admin, and all other callers of authenticate()."""

from __future__ import annotations

from typing import Any

from asgiref.sync import sync_to_async
from django.contrib.auth.backends import ModelBackend
from django.contrib.auth.models import Permission, User
from django.http import HttpRequest

from dlqadmin.audit import sign_in_limits
from dlqadmin.audit.entries import record
from dlqadmin.audit.sign_ins import shown_account, sign_in_path
from dlqadmin.rest.current_request import client_address

PERMISSION_CACHE = "_perm_cache"  # an attribute of the user, which ModelBackend reads


class LimitedBackend(ModelBackend):
    """Django's users, passwords and permissions, with limits on sign-in tries."""

    def authenticate(
        self, request: HttpRequest | None, username: str | None = None, password: str | None = None, **kwargs: Any
    ) -> User | None:
        """Return the user with this password, or None.

        Raises TooManyTries, for known and unknown names alike.
        """
        if username is None or password is None:
            return None
        address = client_address(request) if request else None
        try:
            sign_in_limits.take(username, address)
        except sign_in_limits.TooManyTries as refusal:
            if refusal.first:  # one entry per window: refusals must not fill the table
                detail = {"door": sign_in_path(request), "limit": refusal.limit, "wait_s": refusal.wait}
                record("", "sign-in refused", "session", shown_account(username), detail)
            raise
        user = super().authenticate(request, username, password)
        if user is None:
            return None
        assert isinstance(user, User)
        if self.check_admission(request, user, **kwargs):  # before `succeed`, so that guesses of a code count as tries
            sign_in_limits.succeed(username, address)
        return user

    def check_admission(self, request: HttpRequest | None, user: User, **kwargs: Any) -> bool:
        """Check what a sign-in needs besides the password. Return whether all of it was there.

        Raises AuthenticationFailed.
        """
        return True

    async def aauthenticate(
        self, request: HttpRequest | None, username: str | None = None, password: str | None = None, **kwargs: Any
    ) -> User | None:
        """Authenticate for async callers. Django's own method checks the password without these limits."""
        return await sync_to_async(self.authenticate)(request, username, password, **kwargs)

    def get_all_permissions(self, user_obj: Any, obj: Any = None) -> set[str]:
        """Return the names of a user's permissions, with one query where Django's own method needs two.

        A request checks permissions several times, on one user object. Django caches them there.
        """
        is_plain = user_obj.is_active and not user_obj.is_superuser and obj is None
        if is_plain and not hasattr(user_obj, PERMISSION_CACHE):
            rows = Permission.objects.order_by().values_list("content_type__app_label", "codename")
            own = rows.filter(user=user_obj).union(rows.filter(group__user=user_obj))
            setattr(user_obj, PERMISSION_CACHE, {f"{app}.{codename}" for app, codename in own})
        return super().get_all_permissions(user_obj, obj)
