"""Handlers that tests name by their dotted paths."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.config.options import Option
from engine.policy.handlers import Response


class Mine:
    """Keeps what it was configured with."""

    def __init__(self) -> None:
        self.configs: dict[str, str] = {}

    def configure(self, configs: Mapping[str, str]) -> None:
        self.configs = dict(configs)

    def handle(self, context: Any, record: Any, exception: Exception) -> Response:
        return Response.CONTINUE


class OldProduction:
    """Has the signature from before KIP-1033."""

    def handle(self, record: Any, exception: Exception) -> Response:
        return Response.CONTINUE


class WithOptions(Mine):
    """Has a table, with a secret that its name does not tell."""

    OPTIONS = (Option("pin", "string", "", "For the door.", secret=True), Option("limit", "int", 1, "So many."))


class Bare:
    """Can't be configured."""

    def handle(self, context: Any, record: Any, exception: Exception) -> Response:
        return Response.CONTINUE


class NotAHandler:
    """Handles nothing."""


class Counted(Mine):
    """Counts the calls of its constructor."""

    OPTIONS = (Option("pin", "string", "", "For the door.", secret=True),)
    made = 0

    def __init__(self) -> None:
        super().__init__()
        type(self).made += 1
