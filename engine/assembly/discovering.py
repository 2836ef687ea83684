"""Which connectors' tasks are found by looking at a cluster beside the worker's, and who looks."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from engine.assembly.mirror_clients import mirror_clients
from engine.assembly.mirror_watch import MirrorWatch
from engine.assembly.plan import ConnectorPlan
from engine.config.worker import WorkerConfig


def watch_of(plan: ConnectorPlan, worker: WorkerConfig) -> Callable[[], MirrorWatch] | None:
    """How to make who watches for the connector; None where its tasks follow from its options or its topics."""
    if plan.known.opener != "mirror":
        return None
    return partial(_watch, plan, worker)


def _watch(plan: ConnectorPlan, worker: WorkerConfig) -> MirrorWatch:
    return MirrorWatch(mirror_clients(plan.config, worker))
