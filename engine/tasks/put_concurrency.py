"""Sinks whose `put` may be called by several threads at once: only classes that declare it."""

from __future__ import annotations

from engine.config.connector import PUT_CONCURRENCY, ConnectorConfig
from engine.config.options import Problem
from engine.tasks.connector_class import ConnectorClass


def concurrency_problems(known: ConnectorClass, config: ConnectorConfig) -> list[Problem]:
    """Refuse several puts at once for a class that does not declare them."""
    count = config.put_concurrency
    if count == 1 or declares_concurrent_puts(known.factory):
        return []
    text = f"must be 1, because {config.connector_class} does not declare concurrent_puts: it puts one batch at a time"
    return [(PUT_CONCURRENCY.name, str(count), text)]


def declares_concurrent_puts(factory: object) -> bool:
    """Return whether the class declares `concurrent_puts = True` itself.

    A derived class must repeat it, because it may keep state of its own.
    """
    return isinstance(factory, type) and bool(vars(factory).get("concurrent_puts"))
