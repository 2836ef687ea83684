"""The open dead letters of each team, and the indexed topics that no team owns."""

from __future__ import annotations

from typing import Any

from dlqadmin.audit.permissions import VIEW, reach_of
from dlqadmin.deadletters.models import IndexPosition
from dlqadmin.deadletters.search import work_counts
from dlqadmin.overview.documents import TeamFacts, TeamOpen, UnownedTopic
from dlqadmin.teams.models import Team
from dlqadmin.teams.patterns import owns
from dlqadmin.teams.reach import of_teams, reaching


def team_facts(user: Any) -> TeamFacts:
    """Return the facts of the teams that the user reaches.

    Dead letters of a topic and a connector of two teams count for both.
    """
    reach = reach_of(user, VIEW)
    teams = Team.objects.all() if reach.teams is None else Team.objects.filter(pk__in=reach.teams)
    return TeamFacts(
        open=[TeamOpen(team=team.pk, open=_open(team)) for team in teams],
        unowned=[] if reach.is_limited else _unowned(list(teams)),
    )


def _open(team: Team) -> int:
    with reaching(of_teams(frozenset((team.pk,)))):
        return sum(counts.open for counts in work_counts.by_topic().values())


def _unowned(teams: list[Team]) -> list[UnownedTopic]:
    rows = IndexPosition.objects.order_by("topic", "cluster").values_list("cluster", "topic").distinct()
    return [
        UnownedTopic(cluster=cluster, topic=topic)
        for cluster, topic in rows
        if not any(owns(team.topics, cluster, topic) for team in teams)
    ]
