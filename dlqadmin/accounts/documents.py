"""API tokens as API documents."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

import msgspec

from dlqadmin.accounts import tokens
from dlqadmin.accounts.models import ApiToken
from dlqadmin.rest.documents import Document, Time
from dlqadmin.rest.times import iso, iso_or_none

TokenState = Literal["active", "expired", "revoked", "password_changed", "deactivated"]


class TokenDocument(Document):
    """A token, without its secret. `team` is null if it reaches all teams of its owner."""

    id: int
    name: str
    owner: str
    team: str | None
    scopes: list[str]
    created_at: Time
    expires_at: Time
    last_used_at: Time | None
    state: TokenState


class CreatedToken(TokenDocument):
    """A new token. The API shows its secret only in this response."""

    secret: str


class TokenListDocument(Document):
    """Tokens, newest first, and the default and maximum lifetime of new tokens."""

    results: list[TokenDocument]
    default_days: int
    max_days: int


def token_document(token: ApiToken, now: datetime) -> TokenDocument:
    """Return a token as the API shows it."""
    return TokenDocument(
        id=token.pk,
        name=token.name,
        owner=token.owner.get_username(),
        team=token.team.name if token.team else None,
        scopes=token.scopes,
        created_at=iso(token.created_at),
        expires_at=iso(token.expires_at),
        last_used_at=iso_or_none(token.last_used_at),
        state=msgspec.convert(tokens.end_reason(token, now) or "active", TokenState),
    )
