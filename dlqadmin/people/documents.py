"""Teams, people and invitations as API documents."""

from __future__ import annotations

from typing import Literal

from dlqadmin.rest.documents import Document, Time

InvitationState = Literal["open", "expired", "accepted", "revoked"]


class TeamDocument(Document):
    """A team and what it owns. `version` changes with these. `people` counts members of groups too."""

    id: int
    name: str
    topics: list[str]
    connectors: list[str]
    people: int
    version: str
    may_change_people: bool


class TeamList(Document):
    """The teams in reach, by name."""

    results: list[TeamDocument]


class RolesInTeam(Document):
    """The roles that a person or a group was given in a team."""

    team: int
    name: str
    roles: list[str]


class HolderDocument(Document):
    """A person, or a sign-in group of people, and the given roles. Readers without admin rights get no details.

    `roles` are those in the asked team, else those for all teams. `included` are roles that others include. `members`
    are the names of a group's people. `invited_by`, `groups` and `last_seen` are details of a person.
    """

    kind: Literal["user", "group"]
    id: int
    name: str
    active: bool
    administrator: bool
    roles: list[str]
    included: list[str]
    teams: list[RolesInTeam]
    members: list[str]
    groups: list[str]
    invited_by: str | None
    last_seen: Time | None
    barred: str | None


class HolderList(Document):
    """People and groups by name; `more` says that there are more than the list shows."""

    results: list[HolderDocument]
    more: bool


class InvitationDocument(Document):
    """An invitation, without its secret. `resets` says that it sets the password of an account."""

    id: int
    name: str
    team: str | None
    roles: list[str]
    resets: bool
    inviter: str | None
    created_at: Time
    expires_at: Time
    state: InvitationState


class CreatedInvitation(InvitationDocument):
    """A new invitation. The API shows its link only in this response."""

    link: str


class InvitationList(Document):
    """Invitations, newest first."""

    results: list[InvitationDocument]


class OfferDocument(Document):
    """The offer of an invitation to the person who has its link. `username` is the account of a password link."""

    name: str
    team: str | None
    roles: list[str]
    inviter: str
    username: str | None
    expires_at: Time
