"""The table of rights that the engine's Kafka clients need: one row for each operation on a resource.

The command `python -m engine acls` and the page docs/reference/acls.md are made of it. A test with a real authorizer
compares it with the decisions that the broker logs.
"""

from __future__ import annotations

from typing import NamedTuple

from engine.config.acls import Resource

WORKER_CONSUMER, WORKER_PRODUCER, WORKER_ADMIN = "worker's consumer", "worker's producer", "worker's admin client"
CONSUMER, PRODUCER, ADMIN = "consumer", "producer", "admin client"
LETTER_PRODUCER, LETTER_ADMIN = "dead letter producer", "dead letter admin client"
OFFSETS_CONSUMER, OFFSETS_PRODUCER, OFFSETS_ADMIN = "offsets consumer", "offsets producer", "offsets admin client"
SOURCE_CONSUMER, SOURCE_PRODUCER, SOURCE_ADMIN = "source consumer", "source producer", "source admin client"
SOURCE_READER = "source reader"
TARGET_READER, TARGET_PRODUCER, TARGET_ADMIN = "target reader", "target producer", "target admin client"

# Conditions on a connector. A row applies if all of its conditions hold.
READS = "sink or stream"
MIRROR = "mirror"
MIRROR_SINK = "mirror with connector.type=sink"
STAND_IN = "mirror with transaction.producer=true"
ONCE, PLAIN = "exactly once", "at least once"
WRITES = "writes records to topics"
CREATES = "topic.creation.* options"
LETTERS, LETTERS_INSIDE, LETTERS_OUTSIDE = "dead letters", "dead letters in transactions", "dead letters of their own"
OUTCOMES_INSIDE, OUTCOMES_OUTSIDE = "outcomes in transactions", "outcomes of their own"
OFFSETS, OWN_OFFSETS = "offsets in a topic", "offsets.storage.topic"
SYNCS, CHECKPOINTS, HEARTBEATS = "emit.offset-syncs.enabled", "checkpoints", "emit.heartbeats.enabled"
GROUP_SYNC, CONFIG_SYNC = "sync.group.offsets.enabled", "sync.topic.configs.enabled"

# Names of resources, which the connector or the worker fills in.
CONFIG_TOPIC, STATUS_TOPIC = "config.storage.topic", "status.storage.topic"
OFFSET_TOPIC, OUTCOME_TOPIC = "offset.storage.topic", "outcome.storage.topic"
LEADER_ID, LEADER_GROUP = "connect-cluster-<group.id>", "<group.id>-leader"
GROUP, TASK_IDS, MIGRATION_ID = "connect-<name>", "<group.id>-<name>-*", "<group.id>-<name>"
INPUT, OUTPUT, LETTER_TOPIC = "topics that it reads", "topics that it writes to", "dead letter topic"
OWN_OFFSET_TOPIC = "topic of its offsets"
MIRRORED, REMOTE = "mirrored topics on the source", "mirrored topics on the target"
FOLLOWED = "consumer groups of groups"
SYNCS_TOPIC, CHECKPOINTS_TOPIC = "mm2-offset-syncs.<target>.internal", "<source>.checkpoints.internal"
HEARTBEATS_TOPIC = "heartbeats.topic"
CLUSTER = "cluster"


class AclRow(NamedTuple):
    """A right of a client.

    `when` holds the conditions on the connector. `without` says what the engine lacks without the right; if it is
    empty, the task or the driver fails.
    """

    client: str
    operation: str
    kind: Resource
    name: str
    why: str
    when: tuple[str, ...] = ()
    without: str = ""


_EXISTS = "Creates the topic unless it exists"
_SEEN = "Looks whether the topic exists"
_EXPIRY = "positions of idle tasks expire, and can't be set over REST"
_UNTRANSLATED = "offsets of consumer groups are not translated"

WORKER_ROWS: tuple[AclRow, ...] = (
    AclRow(WORKER_CONSUMER, "Read", "topic", CONFIG_TOPIC, "Reads configurations, and elects the leader"),
    AclRow(WORKER_CONSUMER, "Read", "topic", STATUS_TOPIC, "Reads the states of tasks"),
    AclRow(WORKER_CONSUMER, "Read", "group", LEADER_GROUP, "Elects the leader"),
    AclRow(WORKER_PRODUCER, "Write", "topic", CONFIG_TOPIC, "The leader writes configurations"),
    AclRow(WORKER_PRODUCER, "Write", "transactional-id", LEADER_ID, "The leader writes in transactions"),
    AclRow(WORKER_PRODUCER, "Write", "topic", STATUS_TOPIC, "Writes the states of tasks"),
    AclRow(WORKER_ADMIN, "Create", "topic", CONFIG_TOPIC, _EXISTS),
    AclRow(WORKER_ADMIN, "Create", "topic", STATUS_TOPIC, _EXISTS),
    AclRow(WORKER_ADMIN, "Create", "topic", OFFSET_TOPIC, _EXISTS),
    AclRow(WORKER_ADMIN, "Create", "topic", OUTCOME_TOPIC, _EXISTS),
    AclRow(WORKER_ADMIN, "Describe", "topic", CONFIG_TOPIC, _SEEN),
    AclRow(WORKER_ADMIN, "Describe", "topic", STATUS_TOPIC, _SEEN),
    AclRow(WORKER_ADMIN, "Describe", "topic", OFFSET_TOPIC, _SEEN),
    AclRow(WORKER_ADMIN, "Describe", "topic", OUTCOME_TOPIC, _SEEN),
    AclRow(
        WORKER_ADMIN,
        "DescribeConfigs",
        "cluster",
        CLUSTER,
        "Reads offsets.retention.minutes",
        without="the default of seven days is assumed",
    ),
)
CONNECTOR_ROWS: tuple[AclRow, ...] = (
    AclRow(CONSUMER, "Read", "topic", INPUT, "Reads records", (READS,)),
    AclRow(CONSUMER, "Describe", "group", GROUP, "Reads its positions", (READS, ONCE)),
    AclRow(CONSUMER, "Read", "group", GROUP, "Commits its positions", (READS, PLAIN)),
    AclRow(WORKER_ADMIN, "Describe", "topic", INPUT, "The driver reads partitions and end offsets", (READS,)),
    AclRow(WORKER_ADMIN, "Describe", "group", GROUP, "The driver reads positions", (READS,)),
    AclRow(
        WORKER_CONSUMER, "Read", "topic", INPUT, "The driver commits positions of idle tasks", (READS, PLAIN), _EXPIRY
    ),
    AclRow(
        WORKER_CONSUMER, "Read", "group", GROUP, "The driver commits positions of idle tasks", (READS, PLAIN), _EXPIRY
    ),
    AclRow(
        PRODUCER,
        "Write",
        "transactional-id",
        TASK_IDS,
        "Writes in transactions; the driver fences older tasks",
        (ONCE,),
    ),
    AclRow(PRODUCER, "Write", "topic", OUTPUT, "Writes records", (WRITES,)),
    AclRow(PRODUCER, "Read", "topic", INPUT, "Commits positions in transactions", (READS, ONCE)),
    AclRow(PRODUCER, "Read", "group", GROUP, "Commits positions in transactions", (READS, ONCE)),
    AclRow(ADMIN, "Create", "topic", OUTPUT, _EXISTS, (CREATES,)),
    AclRow(ADMIN, "Describe", "topic", OUTPUT, _SEEN, (CREATES,)),
    AclRow(LETTER_ADMIN, "Create", "topic", LETTER_TOPIC, _EXISTS, (LETTERS,)),
    AclRow(LETTER_ADMIN, "Describe", "topic", LETTER_TOPIC, _SEEN, (LETTERS,)),
    AclRow(
        LETTER_ADMIN,
        "DescribeConfigs",
        "topic",
        LETTER_TOPIC,
        "Reads max.message.bytes",
        (LETTERS,),
        "a dead letter may have 1 MB",
    ),
    AclRow(PRODUCER, "Write", "topic", LETTER_TOPIC, "Writes dead letters", (LETTERS_INSIDE,)),
    AclRow(LETTER_PRODUCER, "Write", "topic", LETTER_TOPIC, "Writes dead letters", (LETTERS_OUTSIDE,)),
    AclRow(PRODUCER, "Write", "topic", OUTCOME_TOPIC, "Reports the outcomes of replayed records", (OUTCOMES_INSIDE,)),
    AclRow(
        WORKER_PRODUCER,
        "Write",
        "topic",
        OUTCOME_TOPIC,
        "Reports the outcomes of replayed records",
        (OUTCOMES_OUTSIDE,),
    ),
    AclRow(OFFSETS_CONSUMER, "Read", "topic", OWN_OFFSET_TOPIC, "Reads offsets", (OFFSETS,)),
    AclRow(OFFSETS_ADMIN, "Describe", "topic", OWN_OFFSET_TOPIC, "Reads partitions and end offsets", (OFFSETS,)),
    AclRow(PRODUCER, "Write", "topic", OWN_OFFSET_TOPIC, "Writes offsets in transactions", (OFFSETS, ONCE)),
    AclRow(OFFSETS_PRODUCER, "Write", "topic", OWN_OFFSET_TOPIC, "Writes offsets", (OFFSETS, PLAIN)),
    AclRow(OFFSETS_ADMIN, "Create", "topic", OWN_OFFSET_TOPIC, _EXISTS, (OWN_OFFSETS,)),
    AclRow(
        PRODUCER,
        "Write",
        "transactional-id",
        MIGRATION_ID,
        "Copies offsets to the connector's own topic, once",
        (OWN_OFFSETS,),
    ),
    AclRow(
        PRODUCER,
        "Write",
        "topic",
        OWN_OFFSET_TOPIC,
        "Copies offsets to the connector's own topic, once",
        (OWN_OFFSETS,),
    ),
    AclRow(WORKER_CONSUMER, "Read", "topic", OFFSET_TOPIC, "Reads the offsets to copy", (OWN_OFFSETS,)),
    AclRow(WORKER_ADMIN, "Describe", "topic", OFFSET_TOPIC, "Reads partitions and end offsets", (OWN_OFFSETS,)),
    AclRow(
        WORKER_PRODUCER,
        "Write",
        "topic",
        OFFSET_TOPIC,
        "Copies offsets back",
        (OWN_OFFSETS,),
        "the connector can't go back to the worker's topic",
    ),
    AclRow(SOURCE_CONSUMER, "Read", "topic", MIRRORED, "Reads records", (MIRROR,)),
    AclRow(SOURCE_CONSUMER, "Describe", "group", GROUP, "Looks for its coordinator", (MIRROR,)),
    AclRow(SOURCE_CONSUMER, "Read", "group", GROUP, "Commits its positions", (MIRROR_SINK, PLAIN)),
    AclRow(
        SOURCE_CONSUMER, "Read", "group", GROUP, "Commits its progress", (STAND_IN,), "tools on the source show no lag"
    ),
    AclRow(SOURCE_ADMIN, "Describe", "topic", MIRRORED, "Finds topics and partitions", (MIRROR,)),
    AclRow(TARGET_ADMIN, "Create", "topic", REMOTE, _EXISTS, (MIRROR,)),
    AclRow(TARGET_ADMIN, "Describe", "topic", REMOTE, "Finds topics, partitions and end offsets", (MIRROR,)),
    AclRow(TARGET_ADMIN, "Alter", "topic", REMOTE, "Adds partitions", (MIRROR,), "new partitions are not mirrored"),
    AclRow(PRODUCER, "Write", "topic", REMOTE, "Writes records", (MIRROR,)),
    AclRow(PRODUCER, "Read", "topic", REMOTE, "Commits positions in transactions", (STAND_IN,)),
    AclRow(PRODUCER, "Read", "group", GROUP, "Commits positions in transactions", (STAND_IN,)),
    AclRow(TARGET_READER, "Describe", "topic", REMOTE, "Reads its positions", (STAND_IN,)),
    AclRow(TARGET_READER, "Describe", "group", GROUP, "Reads its positions", (STAND_IN,)),
    AclRow(
        SOURCE_ADMIN,
        "DescribeConfigs",
        "topic",
        MIRRORED,
        "Copies configurations",
        (CONFIG_SYNC,),
        "configurations are not copied",
    ),
    AclRow(
        TARGET_ADMIN,
        "DescribeConfigs",
        "topic",
        REMOTE,
        "Copies configurations",
        (CONFIG_SYNC,),
        "configurations are not copied",
    ),
    AclRow(
        TARGET_ADMIN,
        "AlterConfigs",
        "topic",
        REMOTE,
        "Copies configurations",
        (CONFIG_SYNC,),
        "configurations are not copied",
    ),
    AclRow(TARGET_ADMIN, "Create", "topic", HEARTBEATS_TOPIC, _EXISTS, (HEARTBEATS,), "there are no heartbeats"),
    AclRow(
        TARGET_PRODUCER,
        "Write",
        "topic",
        HEARTBEATS_TOPIC,
        "Writes heartbeats",
        (HEARTBEATS,),
        "there are no heartbeats",
    ),
    AclRow(SOURCE_ADMIN, "Create", "topic", SYNCS_TOPIC, _EXISTS, (SYNCS,), _UNTRANSLATED),
    AclRow(SOURCE_PRODUCER, "Write", "topic", SYNCS_TOPIC, "Writes offset syncs", (SYNCS,), _UNTRANSLATED),
    AclRow(SOURCE_READER, "Read", "topic", SYNCS_TOPIC, "Reads offset syncs", (CHECKPOINTS,), _UNTRANSLATED),
    AclRow(
        SOURCE_ADMIN,
        "Describe",
        "group",
        FOLLOWED,
        "Finds groups and reads their offsets",
        (CHECKPOINTS,),
        _UNTRANSLATED,
    ),
    AclRow(TARGET_ADMIN, "Create", "topic", CHECKPOINTS_TOPIC, _EXISTS, (CHECKPOINTS,), _UNTRANSLATED),
    AclRow(
        TARGET_PRODUCER, "Write", "topic", CHECKPOINTS_TOPIC, "Writes translated offsets", (CHECKPOINTS,), _UNTRANSLATED
    ),
    AclRow(
        TARGET_READER, "Read", "topic", CHECKPOINTS_TOPIC, "Reads translated offsets", (CHECKPOINTS,), _UNTRANSLATED
    ),
    AclRow(
        TARGET_ADMIN,
        "Read",
        "group",
        FOLLOWED,
        "Commits translated offsets",
        (GROUP_SYNC,),
        "groups are not synchronised",
    ),
    AclRow(
        TARGET_ADMIN,
        "Read",
        "topic",
        REMOTE,
        "Commits translated offsets",
        (GROUP_SYNC,),
        "groups are not synchronised",
    ),
)


def render() -> str:
    """Return the tables as Markdown."""
    parts = [_section("Worker", WORKER_ROWS), _section("Connectors", CONNECTOR_ROWS)]
    return "\n\n".join(parts)


def _section(title: str, rows: tuple[AclRow, ...]) -> str:
    head = "| client | operation | resource | name | if | why | without it |"
    return "\n".join([f"## {title}", "", head, f"|{' --- |' * 7}", *map(_line, rows)])


def _line(row: AclRow) -> str:
    name = row.name if " " in row.name else f"`{row.name}`"
    when = ", ".join(f"`{one}`" if "." in one and " " not in one else one for one in row.when)
    cells = (row.client, row.operation, row.kind, "" if row.kind == "cluster" else name, when, row.why, row.without)
    return "|" + "".join(f" {cell} |" if cell else " |" for cell in cells)
