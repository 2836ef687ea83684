"""Response bodies of the REST API in Kafka Connect's format, from a view of the herder. Pure functions."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from engine.assembly.plugin_list import Plugin
from engine.config import exactly_once_source, handlers, topic_creation
from engine.config.connector import all_options
from engine.config.masking import MASK, mask
from engine.config.options import REQUIRED, Option, Problem
from engine.errors import BadRequest
from engine.herder.snapshot import HerderSnapshot, connector_status, task_status

VERSION = "0.1.0"
_TYPES = {"duration": "LONG", "map": "STRING"}  # Kafka Connect has no such types

# The groups of options, by the beginnings of their names. The options of a connector's class are in OWN.
COMMON, OWN = "Common", "Connector"
_GROUPS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("Converters", ("key.converter", "value.converter", "header.converter")),
    ("Transforms", ("transforms", "predicates")),
    ("Error handling", ("errors.", *(option.name.removesuffix(".*") for option in handlers.OPTIONS))),
    ("Topic creation", tuple(option.name.removesuffix(".*") for option in topic_creation.OPTIONS)),
    ("Exactly once", tuple(option.name for option in exactly_once_source.OPTIONS)),
    ("Client options", ("consumer.override.", "producer.override.", "admin.override.")),
)
_SHARED = frozenset(spelling for option in all_options() for spelling in option.spellings)


def root(cluster: str) -> dict[str, Any]:
    """Return the body of `GET /`."""
    return {"version": VERSION, "commit": "", "kafka_cluster_id": cluster}


def health(view: HerderSnapshot) -> dict[str, Any]:
    """Return the health: `status` is `ok`, `starting`, `standby` or `degraded` with the reason.

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


def connectors(view: HerderSnapshot, expand: Collection[str]) -> list[str] | dict[str, Any]:
    """Return the names, or an object for each with `expand=status` and `expand=info`."""
    if not expand:
        return view.names()
    parts = {"status": status, "info": info}
    return {name: {part: body(view, name) for part, body in parts.items() if part in expand} for name in view.names()}


def info(view: HerderSnapshot, name: str) -> dict[str, Any]:
    """Return name, masked configuration, task ids and type."""
    ids = [{"connector": name, "task": task.config.task} for task in view.tasks(name)]
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
    tasks = []
    for task in view.tasks(name):
        body = task_status(view, task)
        row = {"id": task.config.task, "state": body["state"], "worker_id": body["worker_id"]}
        extra = {key: body[key] for key in ("trace", "parked_until", "parked_reason") if body[key] is not None}
        tasks.append({**row, **extra})
    return {
        "name": name,
        "connector": connector_status(view, name),
        "tasks": tasks,
        "type": facts.kind,
        "delivery": facts.delivery if facts.trace is None else None,
    }


def tasks(view: HerderSnapshot, name: str) -> list[dict[str, Any]]:
    """Return the configurations of its tasks, with each task's own partitions."""
    secrets = view.facts_of(name).secrets
    return [
        {
            "id": {"connector": name, "task": task.config.task},
            "config": mask(task.config.config, secrets),
            "partitions": [list(partition) for partition in task.config.partitions],
        }
        for task in view.tasks(name)
    ]


def topics(view: HerderSnapshot, name: str) -> dict[str, Any]:
    """Return the topics that the connector reads."""
    return {name: {"topics": view.topics(name)}}


def metrics(view: HerderSnapshot, name: str) -> dict[str, Any]:
    """Return everything known about each task. This is an extension of Kafka Connect's API."""
    rows = [{"id": task.config.task, **task_status(view, task)} for task in view.tasks(name)]
    return {"connector": name, "delivery": view.facts_of(name).delivery, "tasks": rows}


def offsets(rows: Iterable[tuple[Mapping[str, Any], Mapping[str, Any] | None]]) -> dict[str, Any]:
    """Return the body of `GET /connectors/<c>/offsets`."""
    return {"offsets": [{"partition": dict(partition), "offset": offset} for partition, offset in rows]}


def offset_rows(body: Mapping[str, Any]) -> list[tuple[dict[str, Any], dict[str, Any] | None]]:
    """Parse the body of `PATCH /connectors/<c>/offsets`. Raises BadRequest if it is malformed."""
    rows = body.get("offsets")
    if not isinstance(rows, list) or not rows:
        raise BadRequest(
            'the request body must be {"offsets": [{"partition": {...}, "offset": {...}}, ...]} with at least one row'
        )
    offsets = []
    for row in rows:
        partition, offset = (row.get("partition"), row.get("offset")) if isinstance(row, dict) else (None, None)
        if not isinstance(partition, dict) or not (offset is None or isinstance(offset, dict)):
            raise BadRequest(
                "each row of offsets needs a partition (a JSON object) and an offset (a JSON object or null)"
            )
        offsets.append((partition, offset))
    return offsets


def plugins(found: Iterable[Plugin]) -> list[dict[str, str]]:
    """Return the body of `GET /connector-plugins`."""
    return [{"class": name, "type": str(type_name), "version": VERSION} for name, type_name in found]


def definitions(options: Iterable[Option]) -> list[dict[str, Any]]:
    """Return the body of `GET /connector-plugins/<p>/config`."""
    return [_definition(option.name, option) for option in options]


def validation(
    plugin: str,
    properties: Mapping[str, str],
    problems: Iterable[Problem],
    warnings: Iterable[Problem],
    options: Sequence[Option],
    secrets: Collection[str] = (),
) -> dict[str, Any]:
    """Return the body of `/connector-plugins/<p>/config/validate`: a row per option, with its errors and warnings.

    Kafka Connect has no warnings. They tell of options that are ignored (KIP-618) or probably unintended.
    """
    wrong, doubtful = _messages(problems), _messages(warnings)
    known = {option.name: option for option in options if not option.is_family}
    families = [option for option in options if option.is_family]
    shown = mask(properties, secrets)
    names = [*known, *(name for name in {**properties, **wrong, **doubtful} if name not in known)]
    rows = [
        {
            "definition": _definition(name, known.get(name) or _family_of(name, families)),
            "value": {
                "name": name,
                "value": shown.get(name),
                "recommended_values": [],
                "errors": wrong.get(name, []),
                "warnings": doubtful.get(name, []),
                "visible": True,
            },
        }
        for name in names
    ]
    groups = list(dict.fromkeys(row["definition"]["group"] for row in rows))
    return {"name": plugin, "error_count": sum(map(len, wrong.values())), "groups": groups, "configs": rows}


def _messages(problems: Iterable[Problem]) -> dict[str, list[str]]:
    messages: dict[str, list[str]] = {}
    for option, _, message in problems:
        messages.setdefault(option, []).append(message)
    return messages


def _definition(name: str, option: Option | None) -> dict[str, Any]:
    return {
        "name": name,
        "type": _TYPES.get(option.type, option.type.upper()) if option else "STRING",
        "required": option is not None and option.default is REQUIRED,
        "default_value": _default_text(option) if option else None,
        "documentation": option.doc if option else "",
        "group": _group(name),
    }


def _family_of(name: str, families: Iterable[Option]) -> Option | None:
    """Return the family that the option belongs to, whose doc describes it."""
    return next((one for one in families for start in one.spellings if name.startswith(start.removesuffix("*"))), None)


def _group(name: str) -> str:
    """Return the group of an option by its name, for the forms of clients."""
    found = next((group for group, starts in _GROUPS if name.startswith(starts)), None)
    return found or (COMMON if name in _SHARED else OWN)


def _default_text(option: Option) -> str | None:
    """Return the default as text, as Kafka Connect does."""
    match option.default:
        case None | dict():
            return None
        case default if default is REQUIRED:
            return None
        case _ if option.secret or option.type == "password":
            return MASK
        case bool():
            return "true" if option.default else "false"
        case tuple() | list():
            return ",".join(map(str, option.default))
    return str(option.default)
