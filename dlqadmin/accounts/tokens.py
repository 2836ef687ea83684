"""Create, check and end API tokens.

A token is 256 random bits, so nobody can guess one, and failed attempts need no throttle. For the same reason
one round of SHA-256 protects it as well as a slow password hash. The digest can also be looked up in an
index.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Collection, Iterable
from datetime import datetime, timedelta

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q, QuerySet

from dlqadmin.accounts.models import ApiToken, TokenEnd
from dlqadmin.audit.entries import record
from dlqadmin.audit.permissions import SCOPES, rights_in, rights_of
from dlqadmin.rest.problems import ParameterError, StateConflict
from dlqadmin.teams.models import Team

PREFIX = "dlq_"  # lets people and secret scanners recognise a token
MAX_ACTIVE = 50  # tokens of one owner
USE_WRITTEN_EVERY = timedelta(minutes=1)
REFUSAL_RECORDED_EVERY = timedelta(days=1)  # a monitoring system repeats an expired token every few seconds
EXPIRED = "expired"


def create(
    owner: User,
    actor: User | str,
    name: str,
    scopes: Iterable[str],
    days: int,
    now: datetime,
    team: int | None = None,
) -> tuple[ApiToken, str]:
    """Create a token that expires after `days`; return it with its secret.

    With a team it reaches only what that team owns. The secret is not stored.
    Raises ParameterError for a scope beyond the owner's rights, Conflict at too many tokens.
    """
    chosen = sorted(set(scopes), key=list(SCOPES).index)
    where = "" if team is None else " in this team"
    rights = rights_of(owner) if team is None else rights_in(owner, team)
    if missing := [scope for scope in chosen if scope not in rights]:
        raise ParameterError("scopes", f"{owner.get_username()} does not have the right {missing[0]}{where}")
    # Only after the rights, so that nobody learns which teams there are.
    if team is not None and not Team.objects.filter(pk=team).exists():
        raise ParameterError("team", "is not the id of a team")
    if active_tokens(owner, now).count() >= MAX_ACTIVE:
        raise StateConflict(f"{owner.get_username()} has {MAX_ACTIVE} API tokens, the maximum. Revoke one first.")
    # 256 random bits need no salt and no slow hash: nobody can guess them from the stored SHA-256.
    secret = PREFIX + secrets.token_urlsafe(32)
    with transaction.atomic():
        # The digest of the password hash ends the token even if a change of the password sends no signal.
        token = ApiToken.objects.create(
            owner=owner,
            name=name,
            digest=digest_of(secret),
            scopes=chosen,
            team_id=team,
            password_digest=digest_of(owner.password),
            created_at=now,
            expires_at=now + timedelta(days=days),
        )
        _record(actor, "API token created", token, scopes=chosen, expires_at=token.expires_at)
    return token, secret


def check(secret: str, now: datetime) -> tuple[ApiToken | None, str]:
    """Return the token of a secret and "", or None and the reason for the refusal.

    A use is recorded at most once a minute, a refusal at most once a day.
    """
    token = ApiToken.objects.select_related("owner").filter(digest=digest_of(secret)).first()
    if token is None:
        return None, "This API token is unknown. Create one on the profile screen or with manage.py create_token."
    if state := end_reason(token, now):
        _record_refused_use(token, state, now)
        return None, _REFUSALS[state].format(day=f"{token.expires_at:%Y-%m-%d}")
    # A program may send many requests a second; a write for each of them would contend for this row.
    if token.last_used_at is None or now - token.last_used_at >= USE_WRITTEN_EVERY:
        ApiToken.objects.filter(pk=token.pk).update(last_used_at=now)
    return token, ""


def end_reason(token: ApiToken, now: datetime) -> str:
    """Return why the token may not be used: a TokenEnd or "expired". Return "" if it may be used.

    The owner's password and state are compared at each use, so a token ends even if a change sends no signal.
    """
    if token.end:
        return token.end
    if token.password_digest != digest_of(token.owner.password):
        return TokenEnd.PASSWORD_CHANGED
    if not token.owner.is_active:
        return TokenEnd.DEACTIVATED
    return EXPIRED if token.expires_at <= now else ""


def revoke(token: ApiToken, actor: User, now: datetime) -> None:
    """End the token permanently. Repeating it changes nothing."""
    with transaction.atomic():
        if _end_tokens([token.pk], TokenEnd.REVOKED, now):
            _record(actor, "API token revoked", token)


def end_outdated(owner: User, now: datetime) -> None:
    """End the owner's tokens that a new password or a deactivation made unusable.

    An audit entry records it.
    """
    tokens = ApiToken.objects.filter(owner=owner, end="")
    end = TokenEnd.PASSWORD_CHANGED
    if owner.is_active:
        tokens = tokens.exclude(password_digest=digest_of(owner.password))
    else:
        end = TokenEnd.DEACTIVATED
    with transaction.atomic():
        if count := _end_tokens(list(tokens.values_list("pk", flat=True)), end, now):
            detail = {"tokens": count, "because": end.label}
            record("dlqadmin", "API tokens revoked", "user", owner.get_username(), detail)


def end_lost(owner: User, lost: Collection[str], now: datetime) -> None:
    """End the owner's tokens with a scope that the owner lost. An audit entry records it."""
    rows = ApiToken.objects.filter(owner=owner, end="").values_list("pk", "scopes")
    ended = [pk for pk, scopes in rows if not set(lost).isdisjoint(scopes)]
    with transaction.atomic():
        if count := _end_tokens(ended, TokenEnd.RIGHTS_LOST, now):
            detail = {"tokens": count, "because": TokenEnd.RIGHTS_LOST.label}
            record("dlqadmin", "API tokens revoked", "user", owner.get_username(), detail)


def active_tokens(owner: User, now: datetime) -> QuerySet[ApiToken]:
    """Return the owner's tokens that have neither ended nor expired."""
    return ApiToken.objects.filter(owner=owner, end="", expires_at__gt=now)


def digest_of(text: str) -> str:
    """Return the SHA-256 of a secret, in hexadecimal."""
    return hashlib.sha256(text.encode()).hexdigest()


_REFUSALS: dict[str, str] = {
    TokenEnd.REVOKED: "This API token was revoked. Create a new one.",
    TokenEnd.PASSWORD_CHANGED: "This API token ended when its owner's password changed. Create a new one.",
    TokenEnd.DEACTIVATED: "The owner of this API token is deactivated.",
    TokenEnd.RIGHTS_LOST: "This API token ended when its owner lost a right. Create a new one.",
    EXPIRED: "This API token expired on {day}. Create a new one.",
}


def _record_refused_use(token: ApiToken, state: str, now: datetime) -> None:
    """Record the use of an ended token, at most once a day.

    If the owner changed without a signal, this also marks the token as ended.
    """
    with transaction.atomic():
        if state in TokenEnd:
            _end_tokens([token.pk], TokenEnd(state), now)
        due = Q(refused_at=None) | Q(refused_at__lte=now - REFUSAL_RECORDED_EVERY)
        # The guarded update lets one of several parallel requests write the audit entry.
        if ApiToken.objects.filter(due, pk=token.pk).update(refused_at=now):
            _record("an API token", "ended API token refused", token, because=state)


def _end_tokens(pks: list[int], end: TokenEnd, now: datetime) -> int:
    """End the tokens that have not ended yet; return their number."""
    return ApiToken.objects.filter(pk__in=pks, end="").update(end=end, ended_at=now)


def _record(actor: User | str, action: str, token: ApiToken, **detail: object) -> None:
    known = {"name": token.name, "owner": token.owner.get_username()}
    if token.team is not None:
        known["team"] = token.team.name
    record(actor, action, "API token", str(token.pk), known | detail)
