"""Facts by team: each rule then looks at the sources of its team alone. What a rule counts, its scope decides."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

from dlqadmin.alerts.facts import AlertFacts
from dlqadmin.alerts.rule_filters import SourceCell
from dlqadmin.teams.reach import Reach

Value = TypeVar("Value")


class AlertTeamFacts:
    """Divides facts by team. The teams of a source are remembered until what the teams own changes."""

    def __init__(self, reaches: Mapping[int, Reach]) -> None:
        self.reaches = reaches
        self._teams: dict[SourceCell, list[int]] = {}
        self._divided: dict[object, tuple[Mapping[SourceCell, Any], dict[int, dict[SourceCell, Any]]]] = {}

    def touched(self, facts: AlertFacts) -> set[int]:
        """Return the teams that have sources of the groups with new records."""
        cells = {cell for pk in facts.changed or () for cell in facts.group_cells.get(pk, ())}
        return {team for cell in cells for team in self._teams_of(cell)}

    def divide(self, facts: AlertFacts) -> dict[int, AlertFacts]:
        """Return the facts of each team. A group belongs to each team that has one of its sources."""
        hours = self._kept("hours", facts.hours)
        windows = {seconds: self._kept(seconds, cells) for seconds, cells in facts.windows.items()}
        group_cells: dict[int, dict[int, list[SourceCell]]] = defaultdict(dict)
        for pk, cells in facts.group_cells.items():
            for cell in cells:
                for team in self._teams_of(cell):
                    group_cells[team].setdefault(pk, []).append(cell)
        return {
            team: msgspec.structs.replace(
                facts,
                hours=hours.get(team, {}),
                windows={seconds: found.get(team, {}) for seconds, found in windows.items()},
                group_cells=group_cells.get(team, {}),
                groups={pk: facts.groups[pk] for pk in group_cells.get(team, {})},
            )
            for team in self.reaches
        }

    def _kept(self, name: object, cells: Mapping[SourceCell, Value]) -> dict[int, dict[SourceCell, Value]]:
        """Return counts by team. The reader keeps counts for several evaluations, so they are divided once."""
        known = self._divided.get(name)
        if known is None or known[0] is not cells:
            known = self._divided[name] = cells, self._by_team(cells)
        return known[1]

    def _by_team(self, cells: Mapping[SourceCell, Value]) -> dict[int, dict[SourceCell, Value]]:
        found: dict[int, dict[SourceCell, Value]] = defaultdict(dict)
        for cell, value in cells.items():
            for team in self._teams_of(cell):
                found[team][cell] = value
        return found

    def _teams_of(self, cell: SourceCell) -> list[int]:
        known = self._teams.get(cell)
        if known is None:
            known = self._teams[cell] = [
                team
                for team, reach in self.reaches.items()
                if reach.has_source(cell.topic, cell.connector, cell.cluster)
            ]
        return known
