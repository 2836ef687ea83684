"""Watches for connectors whose tasks depend on another cluster than the worker's."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from engine.assembly.validation import hide_in_problems, plan_of_task
from engine.config.worker import WorkerConfig
from engine.connectors.mirror.client_options import mirror_clients
from engine.connectors.mirror.watch import MirrorWatch
from engine.tasks.plan import ConnectorPlan


def watch_of(plan: ConnectorPlan, worker: WorkerConfig) -> Callable[[], MirrorWatch] | None:
    """Return a factory of the connector's watch.

    None if its options or its topics determine its tasks.
    """
    if plan.known.opener != "mirror":
        return None
    return partial(_watch, plan, worker)


def _watch(plan: ConnectorPlan, worker: WorkerConfig) -> MirrorWatch:
    ready, resolved = plan_of_task(plan.config.properties, worker)
    with hide_in_problems(resolved):
        return MirrorWatch(mirror_clients(ready.config, worker))
