"""Problems of single connectors. The herder goes on serving the other connectors."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from engine.errors import EngineError

log = logging.getLogger(__name__)


class ConnectorProblems:
    """The last problem of each part of each connector, kept until that part succeeds."""

    def __init__(self) -> None:
        self._texts: dict[str, dict[str, str]] = {}

    @contextmanager
    def catching(self, connector: str, part: str, *passed: type[EngineError]) -> Iterator[None]:
        """Catch and store an EngineError, unless its type is one of `passed`."""
        texts = self._texts.setdefault(connector, {})
        try:
            yield
        except passed:
            raise
        except EngineError as error:
            text = f"{part}: {error}"
            if texts.get(part) != text:
                log.warning("connector %s: %s", connector, text)
            texts[part] = text
        else:
            texts.pop(part, None)

    def forget(self, connector: str) -> None:
        """Drop the connector's problems, because its tasks have changed."""
        self._texts.pop(connector, None)

    def texts(self, connectors: Iterable[str]) -> dict[str, str]:
        """Return all problems of each of these connectors as text."""
        return {name: "\n".join(own.values()) for name in connectors if (own := self._texts.get(name))}
