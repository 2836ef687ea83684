"""Accounts of people who sign in with an OpenID provider, and the rights that its claims give.

An identity is an issuer with a subject (OpenID Connect Core 1.0, section 5.7). Names and e-mail addresses identify
nobody: at many providers people choose them.
"""

from __future__ import annotations

import hashlib
import logging
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import Group, User
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.utils import timezone

from dlqadmin.accounts import tokens
from dlqadmin.accounts.models import ProviderIdentity
from dlqadmin.accounts.openid import SignInRefused
from dlqadmin.accounts.providers import IdentityProvider
from dlqadmin.accounts.sessions import end_sessions
from dlqadmin.audit.entries import record
from dlqadmin.audit.permissions import rights_of

FLAGS = ("is_superuser", "is_staff")  # what a provider gives administrators; staff may open Django's admin
MAX_CLAIMED = 10_000  # values of a groups claim

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class GivenRights:
    """The groups that claims give, and whether they make an administrator."""

    groups: frozenset[str]
    is_administrator: bool


def given_rights(provider: IdentityProvider, claims: Mapping[str, Any]) -> GivenRights:
    """Return the rights that the claims of an ID token give."""
    claimed = claimed_groups(provider, claims)
    groups = frozenset(group for value in claimed for group in provider.groups.get(value, ()))
    return GivenRights(groups, not claimed.isdisjoint(provider.administrators))


def claimed_groups(provider: IdentityProvider, claims: Mapping[str, Any]) -> frozenset[str]:
    """Return the values of the groups claim, which may be one text or a list.

    A name with dots such as `realm_access.roles` is a path, unless a claim has that name.
    """
    found: Any = claims.get(provider.groups_claim)
    if found is None:
        found = claims
        for part in provider.groups_claim.split("."):
            found = found.get(part) if isinstance(found, Mapping) else None
    listed = [found] if isinstance(found, str) else found
    if not isinstance(listed, list):
        return frozenset()
    return frozenset(one for one in listed[:MAX_CLAIMED] if isinstance(one, str))


def account_of(provider: IdentityProvider, claims: Mapping[str, Any]) -> User:
    """Return the account of a verified identity, with the rights of its claims. The first sign-in creates it.

    Raises SignInRefused if the account is deactivated, or if another account has the name.
    """
    rights = given_rights(provider, claims)
    with transaction.atomic():
        rows = ProviderIdentity.objects.select_related("user").select_for_update(of=("self",))
        identity = rows.filter(issuer=provider.issuer, subject=claims["sub"]).first()
        if identity is None:
            identity = _create(provider, claims)
        if not identity.user.is_active:
            raise SignInRefused("Your account is deactivated.")
        identity.last_sign_in_at = timezone.now()
        identity.provider = provider.name
        identity.save(update_fields=["last_sign_in_at", "provider"])
        _apply(identity, rights)
        return User.objects.get(pk=identity.user.pk)  # without cached permissions


def link(user: User, provider: IdentityProvider, subject: str, actor: str) -> ProviderIdentity:
    """Let an identity sign in to an existing account. Raises IntegrityError if it has an account already."""
    with transaction.atomic():
        identity = ProviderIdentity.objects.create(
            user=user, provider=provider.name, issuer=provider.issuer, subject=subject, created_at=timezone.now()
        )
        record(actor, "linked provider", "user", user.get_username(), {"said": f"{provider.name}, subject {subject}"})
    return identity


def account_name(provider: IdentityProvider, claims: Mapping[str, Any]) -> str:
    """Return the name of a new account: the user name claim if it is a valid name, else a name from the subject."""
    claimed = claims.get(provider.username_claim)
    if isinstance(claimed, str) and claimed:
        name = unicodedata.normalize("NFKC", claimed)
        field: Any = User._meta.get_field("username")
        try:
            field.run_validators(name)
        except ValidationError:
            log.info("provider %s: the user name claim is not a valid name", provider.name)
        else:
            return name
    return f"{provider.name}-{hashlib.sha256(str(claims['sub']).encode()).hexdigest()[:12]}"


def _create(provider: IdentityProvider, claims: Mapping[str, Any]) -> ProviderIdentity:
    """Create an account with its identity. Raises SignInRefused if the name is taken, in any case of letters."""
    name = account_name(provider, claims)
    # An attacker may choose a name at the provider, so an equal name never leads to an existing account.
    taken = SignInRefused(
        f"Another account has the name {name}. An administrator can link it to you with manage.py link_identity."
    )
    if User.objects.filter(username__iexact=name).exists():
        raise taken
    try:
        with transaction.atomic():
            user = User(username=name)
            user.set_unusable_password()
            user.save()
            return ProviderIdentity.objects.create(
                user=user,
                provider=provider.name,
                issuer=provider.issuer,
                subject=claims["sub"],
                created_at=timezone.now(),
            )
    except IntegrityError as error:  # another sign-in was faster
        raise taken from error


def _apply(identity: ProviderIdentity, rights: GivenRights) -> None:
    """Replace the rights that the provider gave earlier. Rights that an administrator gave stay.

    A loss of rights ends the account's sessions, and the tokens with a lost scope. Otherwise they would come back with
    the right.
    """
    user = identity.user
    before = set(rights_of(User.objects.get(pk=user.pk)))
    was_administrator = user.is_superuser
    _apply_flags(identity, is_administrator=rights.is_administrator)
    given = set(identity.groups.all())
    local = set(user.groups.all()) - given
    wanted = set(_existing(identity.provider, rights.groups)) - local
    user.groups.remove(*(given - wanted))
    user.groups.add(*wanted)
    if given != wanted:
        identity.groups.set(wanted)
    user = User.objects.get(pk=user.pk)
    lost = before - set(rights_of(user))
    if lost:
        tokens.end_lost(user, lost, timezone.now())
    if lost or (was_administrator and not user.is_superuser):
        end_sessions(user)


def _apply_flags(identity: ProviderIdentity, *, is_administrator: bool) -> None:
    """Give or take the flags of an administrator. Only flags that the provider gave are taken."""
    user = identity.user
    if is_administrator:
        changed = [flag for flag in FLAGS if not getattr(user, flag)]
        identity.flags = sorted({*identity.flags, *changed})
    else:
        changed, identity.flags = [flag for flag in identity.flags if flag in FLAGS], []
    for flag in changed:
        setattr(user, flag, is_administrator)
    if changed:
        user.save(update_fields=changed)
        identity.save(update_fields=["flags"])


def _existing(provider: str, names: Iterable[str]) -> list[Group]:
    wanted = set(names)
    found = list(Group.objects.filter(name__in=wanted))
    if missing := sorted(wanted - {group.name for group in found}):
        log.warning("OIDC_PROVIDERS: %s gives groups that do not exist: %s", provider, ", ".join(missing))
    return found
