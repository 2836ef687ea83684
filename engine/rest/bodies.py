"""Response bodies of the REST API in Kafka Connect's format, from a view of the herder. Pure functions."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from engine.assembly.plugin_list import Plugin
from engine.config.masking import mask
from engine.config.plugin_versions import VERSION
from engine.herder.snapshot import HerderSnapshot, connector_status, task_status

HEALTH_CODES = {"healthy": 200, "starting": 503, "unhealthy": 500}
_HEALTHY = "Worker has completed startup and is ready to handle requests."


def root(cluster: str) -> dict[str, Any]:
    """Return the body of `GET /`. The empty commit tells the dashboard that this is not Java's Kafka Connect."""
    return {"version": VERSION, "commit": "", "kafka_cluster_id": cluster}


def health(view: HerderSnapshot) -> dict[str, Any]:
    """Return the health of KIP-1017: `healthy`, `starting` or `unhealthy`. HEALTH_CODES has the status codes.

    A standby driver that knows the leader is healthy.
    """
    if view.trouble:
        return {"status": "unhealthy", "message": "Worker can't continue. GET /health/details has the reason."}
    if view.ready or view.leader_url:
        return {"status": "healthy", "message": _HEALTHY}
    waiting = "No worker is the leader yet." if view.standby else "Worker is still starting up."
    return {"status": "starting", "message": waiting}


def health_details(view: HerderSnapshot) -> dict[str, Any]:
    """Return the state of the driver: `ok`, `starting`, `standby` or `degraded` with the reason.

    `standby` means that another worker leads.
    """
    waiting = "standby" if view.standby else "starting"
    state = "degraded" if view.trouble else "ok" if view.ready else waiting
    return {
        "status": state,
        "leader": view.leader_url or None,
        "trouble": view.trouble,
        "worker_id": view.worker_id,
        "epoch": view.state.epoch,
        "slots": view.slots,
        "leases": len(view.state.leases),
    }


def connectors(view: HerderSnapshot, expand: Collection[str] | None) -> list[str] | dict[str, Any]:
    """Return the names, or an object for each with `expand=status` and `expand=info`."""
    if expand is None:
        return view.names()
    parts = {"status": status, "info": info}
    return {name: {part: body(view, name) for part, body in parts.items() if part in expand} for name in view.names()}


def info(view: HerderSnapshot, name: str) -> dict[str, Any]:
    """Return name, masked configuration, task ids and type."""
    ids = [{"connector": name, "task": task.config.task} for task in view.assigned_tasks(name)]
    return {"name": name, "config": config(view, name), "tasks": ids, "type": view.facts_of(name).kind}


def config(view: HerderSnapshot, name: str) -> dict[str, str]:
    """Return the properties with secrets masked."""
    entry = view.connector(name)
    properties = (entry.properties if entry else None) or {}
    return mask(properties, view.facts_of(name).secrets)


def status(view: HerderSnapshot, name: str) -> dict[str, Any]:
    """Return the states of the connector and its tasks.

    `delivery` is an extension of Kafka Connect's API: the guarantee, or null for an unusable configuration.
    """
    facts = view.facts_of(name)
    rows = []
    for task in view.assigned_tasks(name):
        body = task_status(view, task)
        row = {"id": task.config.task, "state": body["state"], "worker_id": body["worker_id"], "version": VERSION}
        extra = {key: body[key] for key in ("trace", "parked_until", "parked_reason") if body[key] is not None}
        rows.append({**row, **extra})
    return {
        "name": name,
        "connector": {**connector_status(view, name), "version": VERSION},
        "tasks": rows,
        "type": facts.kind,
        "delivery": facts.delivery if facts.trace is None else None,
    }


def restart_plan(view: HerderSnapshot, name: str, *, tasks: bool, only_failed: bool) -> dict[str, Any]:
    """Return the status with RESTARTING for everything that a restart will restart (KIP-745)."""
    body = status(view, name)
    chosen = [body["connector"], *(body["tasks"] if tasks else ())]
    for row in chosen:
        if row["state"] == "FAILED" or not only_failed:
            row["state"] = "RESTARTING"
            row.pop("trace", None)
    return body


def tasks(view: HerderSnapshot, name: str) -> list[dict[str, Any]]:
    """Return the configurations of its tasks. `partitions`, an extension, are the partitions that a task reads."""
    facts = view.facts_of(name)
    own = {"task.class": facts.task_class}
    rows = []
    for task in view.assigned_tasks(name):
        row = {
            "id": {"connector": name, "task": task.config.task},
            "config": {**mask(task.config.config, facts.secrets), **own},
        }
        partitions = [list(partition) for partition in task.config.partitions]
        rows.append({**row, "partitions": partitions} if partitions else row)
    return rows


def topics(view: HerderSnapshot, name: str) -> dict[str, Any]:
    """Return the topics that the connector has used since it was created or its topics were reset (KIP-558)."""
    return {name: {"topics": sorted(view.state.topics.get(name, ()))}}


def metrics(view: HerderSnapshot, name: str) -> dict[str, Any]:
    """Return everything known about each task. This is an extension of Kafka Connect's API."""
    rows = [{"id": task.config.task, **task_status(view, task)} for task in view.tasks(name)]
    return {"connector": name, "delivery": view.facts_of(name).delivery, "tasks": rows}


def offsets(rows: Iterable[tuple[Mapping[str, Any], Mapping[str, Any] | None]]) -> dict[str, Any]:
    """Return the body of `GET /connectors/<c>/offsets`."""
    return {"offsets": [{"partition": dict(partition), "offset": offset} for partition, offset in rows]}


def plugins(found: Iterable[Plugin]) -> list[dict[str, str]]:
    """Return the body of `GET /connector-plugins`."""
    return [{"class": name, "type": str(type_name), "version": VERSION} for name, type_name in found]
