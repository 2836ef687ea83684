"""What keeps single connectors from being served; the others go on."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from engine.errors import EngineError

log = logging.getLogger(__name__)


class Troubles:
    """The last trouble of each connector's parts, until the same thing goes well."""

    def __init__(self) -> None:
        self._texts: dict[str, dict[str, str]] = {}

    @contextmanager
    def kept(self, connector: str, part: str, *passed: type[EngineError]) -> Iterator[None]:
        """An EngineError inside stays inside, unless it is one of those passed on."""
        own = self._texts.setdefault(connector, {})
        try:
            yield
        except passed:
            raise
        except EngineError as error:
            text = f"{part}: {error}"
            if own.get(part) != text:
                log.warning("connector %s, %s", connector, text)
            own[part] = text
        else:
            own.pop(part, None)

    def forget(self, connector: str) -> None:
        """Its tasks are others now."""
        self._texts.pop(connector, None)

    def texts(self, connectors: Iterable[str]) -> dict[str, str]:
        """All that is wrong with each of these connectors."""
        return {name: "\n".join(own.values()) for name in connectors if (own := self._texts.get(name))}
