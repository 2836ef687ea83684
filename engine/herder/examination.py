"""What validation says of each connector, asked once per configuration."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from engine.errors import ConfigError
from engine.herder.view import ConnectorFacts

Examine = Callable[[Mapping[str, str]], ConnectorFacts]


class Examination:
    """Remembers the facts of each connector until its properties change."""

    def __init__(self, examine: Examine) -> None:
        self.check = examine
        self._known: dict[str, tuple[Mapping[str, str], ConnectorFacts]] = {}

    def facts(self, name: str, properties: Mapping[str, str]) -> ConnectorFacts:
        """The facts; problems of a stored configuration are its trace."""
        known = self._known.get(name)
        if known is not None and known[0] == properties:
            return known[1]
        try:
            facts = self.check(properties)
        except ConfigError as error:
            facts = ConnectorFacts(trace=str(error))
        self._known[name] = (properties, facts)
        return facts

    def forget(self, name: str) -> None:
        """Ask again next time."""
        self._known.pop(name, None)
