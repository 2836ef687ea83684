"""The rights that a worker and its connectors need, by principal, from their configurations."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from engine.assembly import acl_table as table
from engine.assembly.acl_table import AclRow
from engine.assembly.driver import task_settings
from engine.assembly.validation import plan_of_task
from engine.config.acls import AclRequirement, grant_command
from engine.config.client_names import leader_group, leader_id
from engine.config.permissions import IDENTITY
from engine.config.worker import WorkerConfig
from engine.connectors.mirror.client_options import MirrorClients, has_positions_group, mirror_clients
from engine.connectors.mirror.naming import policy_of
from engine.connectors.mirror.options import SINK
from engine.connectors.mirror.records import checkpoints_topic, syncs_topic
from engine.kafka.client_options import admin_settings, consumer_settings, producer_settings
from engine.kafka.offsets_migration import migration_id
from engine.tasks.clients import base, connection, creating, reading
from engine.tasks.dead_letters import letter_admin_settings, letter_settings
from engine.tasks.plan import ConnectorPlan
from engine.tasks.source_offsets_topic import offsets_location
from engine.worker_messages import ConnectorKind, Delivery

IMPLIED_BY = {"Describe": {"Read", "Write", "Delete", "Alter"}, "DescribeConfigs": {"AlterConfigs"}}
UNKNOWN = "<topic>"  # only the records tell
LITERAL = re.compile(r"(?:[\w-]|\\?\.(?![*+?]))*")
Settings = Mapping[str, str]
Names = Mapping[str, Sequence[tuple[str, bool]]]  # (name, whether it is a prefix)


@dataclass(frozen=True, slots=True)
class PrincipalAcl:
    """A right of a principal on a cluster. `without`: what is missing without it; empty if something fails."""

    principal: str
    servers: str
    need: AclRequirement
    without: str = ""

    @property
    def command(self) -> str:
        """Return the `kafka-acls.sh` command that grants it."""
        return grant_command(self.need, self.principal, self.servers)


def required_acls(worker: WorkerConfig, connectors: Iterable[Settings], principal: str = "") -> list[PrincipalAcl]:
    """Return the rights of the worker and of these connectors; equal ones once. Raises ConfigError.

    A principal is the SASL user name of a client. For the worker, `principal` replaces it. Where neither is known, a
    placeholder in angle brackets stands for it.
    """
    clients = _worker_clients(worker)
    own = _identity(clients[table.WORKER_ADMIN]())
    rows = list(_acls(table.WORKER_ROWS, clients, _worker_names(worker)))
    for properties in connectors:
        plan, _ = plan_of_task(properties, worker)
        when = _conditions(plan, worker)
        chosen = [row for row in table.CONNECTOR_ROWS if set(row.when) <= when]
        rows += _acls(chosen, {**clients, **_clients(plan, worker)}, {**_worker_names(worker), **_names(plan, worker)})
    return _merge(
        PrincipalAcl(_principal(row, settings, own, principal), settings["bootstrap.servers"], need, row.without)
        for row, settings, need in rows
    )


def grant_script(acls: Sequence[PrincipalAcl]) -> Iterator[str]:
    """Yield the lines of a shell script that grants the rights. Comments tell their purpose."""
    for acl in acls:
        if not acl.without:
            yield f"# {acl.need.why}."
            yield acl.command
    optional = [acl for acl in acls if acl.without]
    if optional:
        yield "# Optional:"
    for acl in optional:
        yield f"# {acl.need.why}. Without it, {acl.without}."
        yield acl.command


def _acls(
    rows: Iterable[AclRow], clients: Mapping[str, Callable[[], Settings]], names: Names
) -> Iterator[tuple[AclRow, Settings, AclRequirement]]:
    for row in rows:
        settings = clients[row.client]()
        for name, prefixed in names[row.name]:
            yield row, settings, AclRequirement((row.operation,), row.kind, name, row.why, prefixed)


def _merge(acls: Iterable[PrincipalAcl]) -> list[PrincipalAcl]:
    """Return required and optional rights of each principal and resource, without rights that others imply."""
    by_resource: dict[tuple[object, ...], list[PrincipalAcl]] = {}
    for acl in acls:
        need = acl.need
        by_resource.setdefault((acl.principal, acl.servers, need.kind, need.name, need.prefixed), []).append(acl)
    merged: list[PrincipalAcl] = []
    for same in by_resource.values():
        required = [acl for acl in same if not acl.without]
        operations = _operations(required)
        more = [one for one in _operations(same) if one not in _with_implied(operations)]
        merged += _joined(required, operations) + _joined([acl for acl in same if acl.without], more)
    return merged


def _joined(acls: Iterable[PrincipalAcl], operations: Sequence[str]) -> list[PrincipalAcl]:
    """Return one right for those of these operations on one resource; none without operations."""
    chosen = [acl for acl in acls if acl.need.operations[0] in operations]
    if not chosen:
        return []
    why = ". ".join(dict.fromkeys(acl.need.why for acl in chosen))
    without = "; ".join(dict.fromkeys(acl.without for acl in chosen if acl.without))
    return [replace(chosen[0], need=replace(chosen[0].need, operations=tuple(operations), why=why), without=without)]


def _operations(acls: Iterable[PrincipalAcl]) -> list[str]:
    """Return the operations that no other of them implies."""
    found = list(dict.fromkeys(acl.need.operations[0] for acl in acls))
    return [one for one in found if not IMPLIED_BY.get(one, set()) & set(found)]


def _with_implied(operations: Iterable[str]) -> set[str]:
    given = set(operations)
    return given | {one for one, implying in IMPLIED_BY.items() if implying & given}


def _principal(row: AclRow, settings: Settings, own: object, given: str) -> str:
    is_own = _identity(settings) == own
    if is_own and given:
        return given
    if settings.get("security.protocol", "").upper().startswith("SASL") and settings.get("sasl.username"):
        return f"User:{settings['sasl.username']}"
    return "User:<worker>" if is_own else f"User:<{row.client}>"


def _identity(settings: Settings) -> object:
    return settings["bootstrap.servers"], {k: v for k, v in settings.items() if k.startswith(IDENTITY)}


def _worker_clients(worker: WorkerConfig) -> dict[str, Callable[[], Settings]]:
    return {
        table.WORKER_CONSUMER: lambda: consumer_settings("", base(worker), worker.consumer),
        table.WORKER_PRODUCER: lambda: producer_settings(base(worker), worker.producer),
        table.WORKER_ADMIN: lambda: admin_settings(base(worker), worker.admin),
    }


def _worker_names(worker: WorkerConfig) -> Names:
    group = worker.group_id
    return {
        table.CLUSTER: [("", False)],
        table.CONFIG_TOPIC: [(worker.config_topic, False)],
        table.STATUS_TOPIC: [(worker.status_topic, False)],
        table.OFFSET_TOPIC: [(worker.offset_topic, False)],
        table.OUTCOME_TOPIC: [(worker.outcome_topic, False)],
        table.LEADER_ID: [(leader_id(group), False)],
        table.LEADER_GROUP: [(leader_group(group), False)],
    }


def _clients(plan: ConnectorPlan, worker: WorkerConfig) -> dict[str, Callable[[], Settings]]:
    """Return the settings of the connector's clients, as its tasks and its watch open them."""
    place = offsets_location(plan.config, worker, plan.delivery)
    clients: dict[str, Callable[[], Settings]] = {
        table.CONSUMER: lambda: reading(plan, worker),
        table.PRODUCER: lambda: task_settings(plan.config.properties, 0, worker),
        table.ADMIN: lambda: creating(plan, worker),
        table.LETTER_PRODUCER: lambda: letter_settings(plan, worker, 0)[0],
        table.LETTER_ADMIN: lambda: letter_admin_settings(plan, worker),
        table.OFFSETS_CONSUMER: lambda: dict(place.consumer),
        table.OFFSETS_PRODUCER: lambda: dict(place.producer),
        table.OFFSETS_ADMIN: lambda: dict(place.admin),
    }
    if plan.known.opener != "mirror":
        return clients
    mirror = mirror_clients(plan.config, worker)
    return clients | {
        table.SOURCE_CONSUMER: mirror.source_consumer,
        table.SOURCE_PRODUCER: mirror.source_producer,
        table.SOURCE_ADMIN: mirror.source_admin,
        table.SOURCE_READER: partial(mirror.source_reader, ""),
        table.TARGET_READER: mirror.target_reader,
        table.TARGET_PRODUCER: mirror.target_small_producer,
        table.TARGET_ADMIN: mirror.target_admin,
    }


def _conditions(plan: ConnectorPlan, worker: WorkerConfig) -> set[str]:
    """Return the table's conditions that hold for the connector."""
    config, once = plan.config, plan.delivery is Delivery.EXACTLY_ONCE
    mirror = mirror_clients(config, worker) if plan.known.opener == "mirror" else None
    reads = plan.known.kind is not ConnectorKind.SOURCE
    has_letters, is_inside = plan.dead_letters is not None, once and (mirror is None or mirror.is_on_workers_cluster)
    letters_inside = is_inside and not config.errors.dlq_elsewhere and not connection(config.errors.dlq_producer)
    has_offsets = not reads and (mirror is None or mirror.mirror.type != SINK)
    found = {
        table.READS: reads,
        table.ONCE: once,
        table.PLAIN: not once,
        table.WRITES: mirror is None and (not reads or plan.known.opener == "topics" or plan.stream is not None),
        table.CREATES: bool(config.new_topics),
        table.LETTERS: has_letters,
        table.LETTERS_INSIDE: has_letters and letters_inside,
        table.LETTERS_OUTSIDE: has_letters and not letters_inside,
        table.OUTCOMES_INSIDE: (reads or mirror is not None) and is_inside,
        table.OUTCOMES_OUTSIDE: (reads or mirror is not None) and not is_inside,
        table.OFFSETS: has_offsets,
        table.OWN_OFFSETS: has_offsets and offsets_location(config, worker, plan.delivery).is_own,
        **(_mirror_conditions(mirror) if mirror is not None else {}),
    }
    return {name for name, holds in found.items() if holds}


def _mirror_conditions(clients: MirrorClients) -> dict[str, bool]:
    mirror = clients.mirror
    on = mirror.values
    syncs = bool(on["emit.offset-syncs.enabled"])
    return {
        table.MIRROR: True,
        table.MIRROR_SINK: mirror.type == SINK,
        table.STAND_IN: has_positions_group(mirror),
        table.SYNCS: syncs,
        table.CHECKPOINTS: syncs and (on["emit.checkpoints.enabled"] or on["sync.group.offsets.enabled"]),
        table.HEARTBEATS: on["emit.heartbeats.enabled"],
        table.GROUP_SYNC: syncs and on["sync.group.offsets.enabled"],
        table.CONFIG_SYNC: on["sync.topic.configs.enabled"],
    }


def _names(plan: ConnectorPlan, worker: WorkerConfig) -> Names:
    """Return the names of the connector's resources. A topic that only its records tell is `<topic>`."""
    config = plan.config
    topics = [(topic, False) for topic in config.topics]
    topics += matching([config.topics_regex]) if config.topics_regex else []
    outputs = [topic for _, topic in plan.known.targets(config.own)]
    outputs += [sink.topic for sink in plan.stream.sinks] if plan.stream is not None else []
    group = f"connect-{config.name}"
    names = {
        table.GROUP: [(group, False)],
        table.TASK_IDS: [(f"{migration_id(worker.group_id, config.name)}-", True)],
        table.MIGRATION_ID: [(migration_id(worker.group_id, config.name), False)],
        table.INPUT: topics,
        table.OUTPUT: [(topic, False) for topic in outputs if topic] or [(UNKNOWN, False)],
        table.LETTER_TOPIC: [(config.errors.dlq_topic, False)],
        table.OWN_OFFSET_TOPIC: [(offsets_location(config, worker, plan.delivery).topic, False)],
    }
    if plan.known.opener != "mirror":
        return names
    mirror = mirror_clients(config, worker).mirror
    policy, on = policy_of(mirror), mirror.values
    mirrored = matching(on["topics"])
    if on["heartbeats.replication.enabled"]:
        mirrored.append((on["heartbeats.topic"], False))
    remote = [(name if name in ("*", UNKNOWN) else policy.remote(mirror.source_alias, name), p) for name, p in mirrored]
    return names | {
        table.MIRRORED: mirrored,
        table.REMOTE: remote,
        table.FOLLOWED: matching(on["groups"], "<group>"),
        table.SYNCS_TOPIC: [(syncs_topic(mirror), False)],
        table.CHECKPOINTS_TOPIC: [(checkpoints_topic(mirror), False)],
        table.HEARTBEATS_TOPIC: [(on["heartbeats.topic"], False)],
    }


def matching(regexes: Iterable[str], unknown: str = UNKNOWN) -> list[tuple[str, bool]]:
    """Return the names that regular expressions match: a name, a prefix, or a placeholder for other expressions."""
    found: list[tuple[str, bool]] = []
    for regex in regexes:
        start = regex.removesuffix(".*")
        name = start.replace("\\.", ".")
        if regex == ".*":
            found.append(("*", False))
        elif LITERAL.fullmatch(start):
            found.append((name, start != regex))
        else:
            found.append((unknown, False))
    return found
