"""The connectors that the command line names: for a driver that finds the place of the leader free.

A driver that has stood by behind another does not write them: what is in the topic since then is an operator's.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

from engine.config.options import stripped
from engine.config.topic import ConfigState
from engine.herder.connectors import Connectors

log = logging.getLogger(__name__)


class Initial:
    """Written once, when this driver first leads, or not at all."""

    def __init__(self, given: Sequence[Mapping[str, str]], connectors: Connectors) -> None:
        self._given = tuple(given)
        self._connectors = connectors
        self._found: ConfigState | None = None

    def stand_by(self) -> None:
        """Note what there was when this driver first looked."""
        if self._found is None:
            self._found = self._connectors.state

    def write(self) -> None:
        """Create or change them, unless anything was written since this driver first looked, if only a heartbeat.

        What it has written itself, in an attempt that failed, does not count.
        """
        before = self._connectors.before
        if self._found in (None, before) or self._connectors.is_own(before.leader):
            self._connectors.put_all({properties["name"]: stripped(properties) for properties in self._given})
        elif self._given:
            names = ", ".join(properties["name"] for properties in self._given)
            log.info("another driver has led since this one started: %s as they were left", names)
        self._given = ()  # later changes are an operator's
