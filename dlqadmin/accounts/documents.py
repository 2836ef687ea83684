"""Sessions, API tokens and second factors as API documents."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

import msgspec

from dlqadmin.accounts import tokens
from dlqadmin.accounts.models import ApiToken
from dlqadmin.audit.permissions import Role
from dlqadmin.rest.documents import Document, Time
from dlqadmin.rest.times import iso, iso_or_none

TokenState = Literal["active", "expired", "revoked", "password_changed", "deactivated", "rights_lost"]


class SessionTeam(Document):
    """A team of the signed-in user, the user's roles in it, and the patterns of what it owns."""

    id: int
    name: str
    roles: list[str]
    topics: list[str]
    connectors: list[str]


class SessionCluster(Document):
    """A Kafka cluster that is enabled. `is_indexed` is false if replays only write to it."""

    name: str
    environment: str
    colour: str
    is_read_only: bool
    is_indexed: bool


class SessionDocument(Document):
    """The signed-in user, and the cluster. `ended` is the reason why the browser's last session ended by itself.

    `rights` hold for at least one team. Of these, `global_rights` hold for all topics and connectors.
    `clusters` are the enabled clusters, the own one first.
    `has_password` is false for accounts that only sign in with a provider. `sign_out_path` ends the provider's session
    too; only the response to a sign-out has it.
    """

    authenticated: bool
    username: str | None
    role: Role | None
    approver: bool
    administrator: bool
    rights: list[str]
    global_rights: list[str]
    teams: list[SessionTeam]
    ended: str | None
    payload_reader: bool
    environment: str
    cluster: str
    read_only: bool
    clusters: list[SessionCluster]
    kafka: str | None
    has_password: bool
    sign_out_path: str | None


class SignInProvider(Document):
    """An OpenID provider. A browser that opens `path` signs in with it."""

    name: str
    title: str
    path: str


class SignInOptions(Document):
    """The ways to sign in. Without `local` only superusers sign in with a password."""

    providers: list[SignInProvider]
    local: bool
    refusal: str | None


class TwoFactorState(Document):
    """The state of the account's two-factor sign-in, and the number of unused recovery codes."""

    enabled: bool
    recovery_codes_left: int


class TwoFactorSecret(Document):
    """The secret for an authenticator app: as text, as an address, and as a QR code (a data URI of an SVG image)."""

    secret: str
    address: str
    qr: str


class RecoveryCodes(Document):
    """The recovery codes. The API shows them only in this response."""

    recovery_codes: list[str]


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
