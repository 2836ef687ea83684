"""Which connectors need a round of fencing before their tasks may run (KIP-618, fencing during rebalance). Pure.

Why for every connector that writes transactions, and not for sources alone: a zombie of a task whose partition has
moved to another task has a transactional id that its successor does not take over.

A connector that wrote transactions once and no longer does (a soft downgrade) gets a last round too, and the record
says that no producers are left: a zombie's transaction would still move offsets that its successors commit plainly.
"""

from __future__ import annotations

import msgspec

from engine.config.topic import ConfigState, ConnectorState
from engine.herder.state import HerderState, Settings


class Round(msgspec.Struct, frozen=True):
    """A round that a connector needs: these tasks' producers are to be fenced, then `count` is written down."""

    connector: str
    generation: int
    tasks: tuple[int, ...]
    count: int


def wanted(connector: str, entry: ConnectorState) -> Round | None:
    """The round that the connector needs before its tasks may run; None when they may.

    A connector that never wrote transactions, and one whose single task takes its own id over, has nothing to fence.
    """
    transactional = any(task.exactly_once for task in entry.tasks)
    if entry.properties is None or entry.fenced or not (transactional or entry.task_count):
        return None
    count = len(entry.tasks) if transactional else 0
    before = entry.task_count or 0
    # KIP-618 passes over a round from one task to none as well; the zombie would meet the tasks after that.
    takes_over = before == 1 and count == 1
    return Round(connector, entry.generation, () if takes_over else tuple(range(before)), count)


def pending(config: ConfigState) -> dict[str, Round]:
    """The rounds that are needed, by connector."""
    rounds = (wanted(name, entry) for name, entry in config.connectors.items())
    return {one.connector: one for one in rounds if one is not None}


def stopped(state: HerderState, round_: Round, now: int, settings: Settings) -> bool:
    """Have the leases of older generations ended, or had their graceful time to, as KIP-618 wants it?"""
    return all(
        run.cancelled or (run.stop_asked_at is not None and now > run.stop_asked_at + settings.graceful_ms)
        for run in state.leases.values()
        if any(task.connector == round_.connector and task.generation != round_.generation for task in run.lease.tasks)
    )
