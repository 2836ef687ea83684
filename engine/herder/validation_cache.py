"""Validation results of connectors, computed once per configuration."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping

from engine.config.topic import ConnectorState
from engine.errors import ConfigError
from engine.herder.snapshot import ConnectorFacts
from engine.record.trace import describe

log = logging.getLogger(__name__)

Examine = Callable[[Mapping[str, str]], ConnectorFacts]
Secrets = Callable[[Mapping[str, str]], Collection[str]]


def no_secrets(_properties: Mapping[str, str]) -> Collection[str]:
    """Return no options: only options with suspicious names are masked."""
    return ()


class ValidationCache:
    """A cache of each connector's facts until its properties change.

    `secrets` returns the options that are never shown. It is also called for unusable properties, so it must not raise.
    """

    def __init__(self, examine: Examine, secrets: Secrets = no_secrets) -> None:
        self.check = examine
        self.secrets = secrets
        self._known: dict[str, tuple[Mapping[str, str], ConnectorFacts]] = {}
        self._admitted: dict[str, tuple[Mapping[str, str], ConnectorFacts]] = {}
        self._all: tuple[Mapping[str, ConnectorState], dict[str, ConnectorFacts]] | None = None

    def admit(self, name: str, properties: Mapping[str, str]) -> None:
        """Validate properties before they are written. Their facts are kept. Raises ConfigError."""
        self._admitted[name] = properties, self.check(properties)

    def facts(self, name: str, properties: Mapping[str, str]) -> ConnectorFacts:
        """Return the facts. Problems of a stored configuration become their trace."""
        known = self._known.get(name)
        if known is not None and known[0] == properties:
            return known[1]
        admitted = self._admitted.pop(name, None)
        try:
            facts = admitted[1] if admitted and admitted[0] == properties else self.check(properties)
        except ConfigError as error:
            facts = ConnectorFacts(trace=str(error), secrets=tuple(self.secrets(properties)))
        except Exception as error:  # noqa: BLE001, validation runs code of other packages: it must not end the herder
            facts = ConnectorFacts(trace=describe(error, foreign=True).text, secrets=tuple(self.secrets(properties)))
        for option, value, text in facts.warnings:
            log.warning("connector %s: %s = %s: %s", name, option, value, text)
        self._known[name] = (properties, facts)
        self._all = None
        return facts

    def all_facts(self, connectors: Mapping[str, ConnectorState]) -> dict[str, ConnectorFacts]:
        """Return the facts of every connector. It is the same object while nothing has changed."""
        # By identity: a dict of hundreds of connectors is not compared in every turn.
        if self._all is None or self._all[0] is not connectors:
            facts = {
                name: self.facts(name, entry.properties)
                for name, entry in connectors.items()
                if entry.properties is not None
            }
            self._all = connectors, facts
        return self._all[1]

    def forget(self, name: str) -> None:
        """Validate again next time."""
        self._known.pop(name, None)
        self._admitted.pop(name, None)
        self._all = None
