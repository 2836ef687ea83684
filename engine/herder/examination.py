"""What validation says of each connector, asked once per configuration."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from engine.config.topic import ConnectorState
from engine.errors import ConfigError
from engine.herder.view import ConnectorFacts
from engine.record.trace import describe

Examine = Callable[[Mapping[str, str]], ConnectorFacts]
Secrets = Callable[[Mapping[str, str]], Collection[str]]


def no_secrets(_properties: Mapping[str, str]) -> Collection[str]:
    """None but those that their names betray."""
    return ()


class Examination:
    """Remembers the facts of each connector until its properties change.

    `secrets` names the options that are never shown, also of properties that can't be used; it must not raise.
    """

    def __init__(self, examine: Examine, secrets: Secrets = no_secrets) -> None:
        self.check = examine
        self.secrets = secrets
        self._known: dict[str, tuple[Mapping[str, str], ConnectorFacts]] = {}
        self._all: tuple[Mapping[str, ConnectorState], dict[str, ConnectorFacts]] | None = None

    def facts(self, name: str, properties: Mapping[str, str]) -> ConnectorFacts:
        """The facts; problems of a stored configuration are its trace."""
        known = self._known.get(name)
        if known is not None and known[0] == properties:
            return known[1]
        try:
            facts = self.check(properties)
        except ConfigError as error:
            facts = ConnectorFacts(trace=str(error), secrets=tuple(self.secrets(properties)))
        except Exception as error:  # noqa: BLE001, validation runs code of other packages: it must not end the herder
            facts = ConnectorFacts(trace=describe(error).text, secrets=tuple(self.secrets(properties)))
        self._known[name] = (properties, facts)
        self._all = None
        return facts

    def all_facts(self, connectors: Mapping[str, ConnectorState]) -> dict[str, ConnectorFacts]:
        """The facts of every connector that exists; the same object as long as nothing about them is new."""
        if self._all is None or self._all[0] is not connectors:
            facts = {
                name: self.facts(name, entry.properties)
                for name, entry in connectors.items()
                if entry.properties is not None
            }
            self._all = connectors, facts
        return self._all[1]

    def forget(self, name: str) -> None:
        """Ask again next time."""
        self._known.pop(name, None)
        self._all = None
