"""Error policies and dead letters for everybody's DataFrames.

`DeadLetterQueue` guards a query. `DeadLetters` is the data source of dead letters. Each is loaded when it is asked for,
because every worker of the data source imports this package.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from engine.dataframes.deadletters import DeadLetters
    from engine.dataframes.queue import DeadLetterQueue

__all__ = ["DeadLetterQueue", "DeadLetters"]
_MODULES = {"DeadLetterQueue": "engine.dataframes.queue", "DeadLetters": "engine.dataframes.deadletters"}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__} has no attribute {name}")
    return getattr(import_module(_MODULES[name]), name)
