"""The reach of the request that is being answered: everything, or what some teams own.

The permission class of a view sets the reach, from the permissions that the view needs. The default managers of models
that belong to a topic or a connector apply it. So no query has to remember it. Workers and commands answer no request:
they reach everything, and are given their limits in the filters that a request froze.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

import msgspec
from django.contrib.auth.models import User
from django.db.models import Q

from dlqadmin.rest.current_request import current_request
from dlqadmin.teams.models import Team, TeamRole
from dlqadmin.teams.patterns import owns, owns_all_beginning

SEES_EVERYTHING = "audit.view_deadletters"  # the permission of global viewers
Answer = TypeVar("Answer")
_OF_REQUEST = "reach"  # an attribute of Django's request
_OF_USER = "_team_roles"  # an attribute of the user


class Reach(msgspec.Struct, frozen=True):
    """The teams whose topics and connectors can be reached; `teams` is None if nothing is out of reach.

    `topics` and `connectors` are the patterns of these teams.
    """

    teams: frozenset[int] | None = None
    topics: tuple[str, ...] = ()
    connectors: tuple[str, ...] = ()

    @property
    def is_limited(self) -> bool:
        """Return whether anything is out of reach."""
        return self.teams is not None

    def has_topic(self, topic: str, cluster: str) -> bool:
        """Return whether the topic is in reach."""
        return not self.is_limited or owns(self.topics, cluster, topic)

    def has_topics_beginning(self, beginning: str, cluster: str) -> bool:
        """Return whether all topics with this beginning are in reach."""
        return not self.is_limited or owns_all_beginning(self.topics, cluster, beginning)

    def has_connector(self, connector: str, cluster: str) -> bool:
        """Return whether the connector is in reach."""
        return not self.is_limited or owns(self.connectors, cluster, connector)

    def has_source(self, topic: str, connector: str, cluster: str) -> bool:
        """Return whether dead letters of this topic and connector are in reach: one of both is enough."""
        return self.has_topic(topic, cluster) or self.has_connector(connector, cluster)


EVERYTHING = Reach()
NOTHING = Reach(frozenset())


def of_teams(teams: frozenset[int] | None) -> Reach:
    """Return the reach of these teams; of None, everything."""
    if teams is None:
        return EVERYTHING
    rows = Team.objects.filter(pk__in=teams).values_list("topics", "connectors") if teams else ()
    topics, connectors = zip(*rows, strict=True) if rows else ((), ())
    return Reach(teams, _distinct(topics), _distinct(connectors))


def reaches_of(teams: frozenset[int]) -> dict[int, Reach]:
    """Return the reach of each of these teams alone."""
    rows = Team.objects.filter(pk__in=teams).values_list("pk", "topics", "connectors") if teams else ()
    return {pk: Reach(frozenset((pk,)), tuple(topics), tuple(connectors)) for pk, topics, connectors in rows}


def shared_reach(one: Reach, other: Reach) -> Reach:
    """Return what both reach: the teams that they share."""
    if one.teams is None or other.teams is None:
        return other if one.teams is None else one
    return one if one.teams <= other.teams else of_teams(one.teams & other.teams)


def teams_with_roles(user: Any, roles: Iterable[str]) -> frozenset[int]:
    """Return the teams in which the user has one of these roles, also as a member of a group."""
    wanted = frozenset(roles)
    return frozenset(team for team, role in held_roles(user) if role in wanted)


def held_roles(user: Any) -> list[tuple[int, str]]:
    """Return the teams and roles of the user, also those of the user's groups.

    They are read once for a user object, like Django's permissions.
    """
    held: list[tuple[int, str]] | None = getattr(user, _OF_USER, None)
    if held is None:
        # Two index lookups; one OR condition would read every role.
        rows = TeamRole.objects.order_by().values_list("team_id", "role")
        held = list(rows.filter(user=user.pk).union(rows.filter(group__user=user.pk)))
        setattr(user, _OF_USER, held)
    return held


def of_colleagues(reach: Reach, field: str) -> Q:
    """Return the condition that the user in `field` has a role in one of the teams in reach.

    Whoever sends the request has one too.
    """
    roles = TeamRole.objects.filter(team__in=reach.teams or ()).order_by()
    direct, through = roles.filter(user__isnull=False).values("user"), roles.values("group")
    people = User.objects.order_by().filter(Q(pk__in=direct) | Q(groups__in=through)).values("pk")
    return Q(**{f"{field}__in": people})


def of_sender(field: str) -> Q:
    """Return the condition that the user in `field` sent the present request."""
    user = getattr(current_request(), "user", None)
    return Q(**{field: user.pk}) if user is not None and user.pk else Q(pk__in=[])


class _State:
    """A reach, and what was computed from it. It lives as long as a request, or as a `reaching` block."""

    def __init__(self, reach: Reach) -> None:
        self.reach = reach
        self.known: dict[Any, Any] = {}


_override: ContextVar[_State | None] = ContextVar("reach", default=None)
_UNLIMITED = _State(EVERYTHING)  # nothing is computed from it


def current_reach() -> Reach:
    """Return what the code that runs now may reach."""
    return _current().reach


def remembered(key: str, compute: Callable[[Reach], Answer]) -> Answer:
    """Return `compute` of the limited reach that code has now, computed once for a request."""
    state = _current()
    if key not in state.known:
        state.known[key] = compute(state.reach)
    known: Answer = state.known[key]
    return known


def set_reach(request: Any, reach: Reach) -> None:
    """Set the reach of this request, for all code that answers it."""
    setattr(getattr(request, "_request", request), _OF_REQUEST, _State(reach))


@contextmanager
def reaching(reach: Reach) -> Iterator[None]:
    """Run code with this reach."""
    token = _override.set(_State(reach))
    try:
        yield
    finally:
        _override.reset(token)


def _current() -> _State:
    if (given := _override.get()) is not None:
        return given
    if (request := current_request()) is None:
        return _UNLIMITED
    if not hasattr(request, _OF_REQUEST):
        set_reach(request, _of_other_views(getattr(request, "user", None)))
    state: _State = getattr(request, _OF_REQUEST)
    return state


def _of_other_views(user: Any) -> Reach:
    """Return the reach of a request whose view sets none, such as Django's admin: everything or nothing."""
    return EVERYTHING if user is not None and user.has_perm(SEES_EVERYTHING) else NOTHING


def _distinct(lists: Iterable[Iterable[str]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(pattern for one in lists for pattern in one))
