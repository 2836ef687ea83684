"""The connectors named on the command line, for a driver that finds no other leader.

A driver that stood by behind another leader does not write them: the topic then holds an operator's changes.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from engine.config.options import strip_values
from engine.config.topic import ConfigState, TargetState
from engine.herder.config_topic import Connectors

log = logging.getLogger(__name__)


class InitialConnectors:
    """The initial connectors. They are written once, when this driver first leads, or never."""

    def __init__(
        self,
        given: Sequence[Mapping[str, str]],
        connectors: Connectors,
        states: Mapping[str, TargetState] = MappingProxyType({}),
    ) -> None:
        """`states` holds the states by name that new connectors begin in, where it is not STARTED."""
        self._given = tuple(given)
        self._states = states
        self._connectors = connectors
        self._found: ConfigState | None = None

    def stand_by(self) -> None:
        """Remember the content of the topic when this driver first looked."""
        if self._found is None:
            self._found = self._connectors.state

    def write(self) -> None:
        """Create or change the connectors, unless the topic changed since this driver first looked.

        Even a heartbeat counts as a change. This driver's own writes, from a failed attempt, do not count.
        """
        before = self._connectors.before
        # Only another driver's leadership in between makes the topic newer than the command line.
        if self._found in (None, before) or self._connectors.is_own(before.leader):
            given = {properties["name"]: strip_values(properties) for properties in self._given}
            self._connectors.put_all(given, self._states)
        elif self._given:
            names = ", ".join(properties["name"] for properties in self._given)
            log.info(
                "connectors %s were not written, because another driver has led since this one started; "
                "the config topic may hold newer changes",
                names,
            )
        self._given = ()  # later changes are an operator's
