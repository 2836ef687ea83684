"""Fencing rounds before connectors' tasks run (KIP-618, fencing during rebalance). Pure.

Every connector that writes transactions needs rounds, not only sources. A partition may move to another task, which
does not take over the transactional id of the old task. So a zombie of the old task could still write.

A connector that no longer writes transactions (a soft downgrade) gets a last round. Its record says that no producers
are left. Without it, a zombie's transaction could still move offsets that the new tasks commit without transactions.
"""

from __future__ import annotations

import msgspec

from engine.config.topic import ConfigState, ConnectorState
from engine.herder.state import HerderSettings, HerderState


class FencingRound(msgspec.Struct, frozen=True):
    """A round that a connector needs: fence these tasks' producers, then write `count`."""

    connector: str
    generation: int
    tasks: tuple[int, ...]
    count: int


def needed_round(connector: str, entry: ConnectorState) -> FencingRound | None:
    """Return the round that the connector needs before its tasks may run, or None.

    Nothing needs fencing if the connector never wrote transactions, or if its single task takes over its own id.
    """
    transactional = any(task.exactly_once for task in entry.tasks)
    if entry.properties is None or entry.fenced or not (transactional or entry.task_count):
        return None
    count = len(entry.tasks) if transactional else 0
    before = entry.task_count or 0
    # KIP-618 also skips the round from one task to none. Here that would let a zombie meet the tasks that come later.
    takes_over = before == 1 and count == 1
    return FencingRound(connector, entry.generation, () if takes_over else tuple(range(before)), count)


def needed_rounds(config: ConfigState) -> dict[str, FencingRound]:
    """Return the rounds that are needed, by connector."""
    rounds = (needed_round(name, entry) for name, entry in config.connectors.items())
    return {one.connector: one for one in rounds if one is not None}


def has_old_work_ended(state: HerderState, round_: FencingRound, now: int, settings: HerderSettings) -> bool:
    """Return whether older generations' leases ended or used up their graceful time (KIP-618)."""
    return all(
        run.cancelled or (run.stop_asked_at is not None and now > run.stop_asked_at + settings.graceful_ms)
        for run in state.leases.values()
        if any(task.connector == round_.connector and task.generation != round_.generation for task in run.lease.tasks)
    )
