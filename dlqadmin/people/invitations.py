"""Create, check and accept the links by which people get an account or a new password.

The secret is 256 random bits, like that of an API token. An unknown, used, expired or revoked link, and one whose
inviter lost the right to give its roles, are all refused with the same sentence.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError as Invalid
from django.db import IntegrityError, transaction
from rest_framework.exceptions import NotFound, ValidationError

from dlqadmin.accounts.tokens import digest_of
from dlqadmin.audit import sign_in_limits
from dlqadmin.audit.entries import record
from dlqadmin.people.authority import can_change, require_change
from dlqadmin.people.models import Invitation, InvitationEnd
from dlqadmin.people.role_changes import set_roles
from dlqadmin.people.role_sets import given
from dlqadmin.rest.problems import StateConflict
from dlqadmin.teams.models import Team

MOST_OPEN = 500  # of all inviters
INVALID = "This link is not valid any more. Ask the person who sent it for a new one."
TAKEN = "Choose another name: this one cannot be used."
SIGN_IN_OFF = (
    "Sign-in by password is off: an invited account could not sign in. Let the person sign in with a provider."
)
OBJECT = "invitation"


def invite(
    inviter: User, name: str, team: Team | None, roles: Iterable[str], days: int, now: datetime
) -> tuple[Invitation, str]:
    """Create an invitation that expires after `days`; return it with its secret.

    Raises PermissionDenied, and StateConflict while only superusers may sign in with a password.
    """
    require_change(inviter, team)
    _check_local_sign_in()
    wanted = given(roles)
    with transaction.atomic():
        made, secret = _create(inviter, now, days, name=name, team=team, roles=wanted)
        detail = {"team": team.name if team else "all teams", "roles": wanted, "expires_at": made.expires_at}
        record(inviter, "invited", OBJECT, name, {**detail, "said": _offer_text(made)})
    return made, secret


def password_link(inviter: User, account: User, days: int, now: datetime) -> tuple[Invitation, str]:
    """Create a link that sets a new password of the account; return it with its secret.

    The account's earlier links end. Raises PermissionDenied.
    """
    require_change(inviter, None)
    username = account.get_username()
    with transaction.atomic():
        _open(now).filter(account=account).update(end=InvitationEnd.REVOKED, ended_at=now)
        made, secret = _create(inviter, now, days, name=username, account=account)
        record(inviter, "password link created", "user", username, {"expires_at": made.expires_at})
    return made, secret


def revoke(actor: User, invitation: Invitation, now: datetime) -> None:
    """End an invitation that is open. Raises PermissionDenied."""
    require_change(actor, invitation.team)
    with transaction.atomic():
        if _open(now).filter(pk=invitation.pk).update(end=InvitationEnd.REVOKED, ended_at=now):
            record(actor, "invitation revoked", OBJECT, invitation.name)


def offered(secret: str, now: datetime) -> Invitation:
    """Return the open invitation with this secret. Raises NotFound."""
    rows = Invitation.objects.select_related("team", "inviter", "account").filter(digest=digest_of(secret))
    found = rows.first()
    if found is None or state_of(found, now) != "open" or not _is_backed(found):
        raise NotFound(INVALID)
    return found


def accept(secret: str, username: str, password: str, address: str | None, now: datetime) -> User:
    """Create the account that the invitation offers, or set the password of its account; return the user.

    Tries count towards the limits of sign-ins. Raises TooManyTries, NotFound, StateConflict and ValidationError.
    """
    account = f"invitation {digest_of(secret)}"
    sign_in_limits.take(account, address)
    try:
        found = offered(secret, now)
    except NotFound:  # the limit of tries also limits these entries
        known = Invitation.objects.filter(digest=digest_of(secret)).values_list("name", flat=True).first()
        record("", "invitation refused", OBJECT, known or "an unknown link")
        raise
    if found.account is None:
        _check_local_sign_in()  # it may have been switched off since the link was made
    user = found.account or _new_user(username)
    try:
        validate_password(password, user)
    except Invalid as error:
        raise ValidationError({"password": error.messages}) from error
    try:
        with transaction.atomic():
            # The guarded update lets one of two parallel requests use the link.
            if not _open(now).filter(pk=found.pk).update(end=InvitationEnd.ACCEPTED, ended_at=now):
                raise NotFound(INVALID)
            _apply(found, user, password)
    except IntegrityError as error:  # a parallel request took the name
        raise ValidationError({"username": [TAKEN]}) from error
    sign_in_limits.succeed(account, address)
    return user


def state_of(invitation: Invitation, now: datetime) -> str:
    """Return the state of an invitation for the API."""
    return invitation.end or ("expired" if invitation.expires_at <= now else "open")


def _create(inviter: User, now: datetime, days: int, **columns: Any) -> tuple[Invitation, str]:
    if _open(now).count() >= MOST_OPEN:
        raise StateConflict(f"There are {MOST_OPEN} open invitations, the maximum. Revoke some first.")
    secret = secrets.token_urlsafe(32)
    made = Invitation.objects.create(
        digest=digest_of(secret), inviter=inviter, created_at=now, expires_at=now + timedelta(days=days), **columns
    )
    return made, secret


def _check_local_sign_in() -> None:
    """Raise StateConflict if a new account could not sign in with the password that its owner chooses."""
    if not settings.LOCAL_SIGN_IN:
        raise StateConflict(SIGN_IN_OFF)


def _open(now: datetime) -> Any:
    return Invitation.objects.filter(end="", expires_at__gt=now)


def _is_backed(invitation: Invitation) -> bool:
    """Return whether the inviter may still give what the link offers."""
    if invitation.account is not None and not invitation.account.is_active:
        return False
    return can_change(invitation.inviter, invitation.team)


def _new_user(username: str) -> User:
    """Return an unsaved user with this name. Raises ValidationError."""
    name = User.normalize_username(username.strip())
    user = User(username=name)
    try:
        user.clean_fields(exclude=["password"])
    except Invalid as error:
        raise ValidationError({"username": error.messages}) from error
    # Names that differ only in case would be confused with each other.
    if User.objects.filter(username__iexact=name).exists():
        raise ValidationError({"username": [TAKEN]})
    return user


def _apply(invitation: Invitation, user: User, password: str) -> None:
    user.set_password(password)
    if invitation.account is not None:
        user.save(update_fields=["password"])
        record(user, "password link used", "user", user.get_username())
        return
    user.save()
    set_roles(user, invitation.team, invitation.roles)
    Invitation.objects.filter(pk=invitation.pk).update(accepted_by=user)
    said = f"{_offer_text(invitation)}, invited by {invitation.inviter}"
    record(user, "invitation accepted", OBJECT, invitation.name, {"said": said})


def _offer_text(invitation: Invitation) -> str:
    return f"{', '.join(invitation.roles)} in {invitation.team.name if invitation.team else 'all teams'}"
