"""The table of well-known Java connectors: their equivalents here, and what becomes of each option.

The option names are those of the connectors' own sources and references. An option in no column of its row has the
same name and meaning here, if the equivalent has it, and no equivalent otherwise.
"""

from __future__ import annotations

from dataclasses import replace

from engine.assembly.java.http import AIVEN_HTTP_SINK, CONFLUENT_HTTP_SINK
from engine.assembly.java.jdbc import JDBC_SINK, JDBC_SOURCE
from engine.assembly.java.objects import AIVEN_S3_SINK, CONFLUENT_S3_SINK
from engine.assembly.java.rows import JavaConnector
from engine.assembly.java.search import AIVEN_ELASTICSEARCH_SINK, CONFLUENT_ELASTICSEARCH_SINK, OPENSEARCH_SINK
from engine.connectors.mirror.mirror_maker import IGNORED, MISSING

NO_CHANGE_LOG = "it reads a database's change log; SqlSource reads new rows of tables by a growing number instead"
MIRRORS = "org.apache.kafka.connect.mirror."
MIRROR_SOURCE = JavaConnector(
    f"{MIRRORS}MirrorSourceConnector",
    "mirror",
    dropped={
        **{option: reason for option, (_, reason) in IGNORED.items()},
        "enabled": "a flow is enabled by its connector; `python -m engine mirror` reads files of flows",
        "target.cluster.bootstrap.servers": "a mirror of type source writes to the worker's own cluster",
    },
    fixed=MISSING,
)
NO_SINK = "no sink for this system is built in; an installed Python package may offer one"
NO_SOURCE = "no source for this system is built in; an installed Python package may offer one"
SQL_VARIANT = (
    "it has the options of the JDBC connector under other names; SqlSink and SqlSource are the closest classes"
)
JAVA_CONNECTORS: tuple[JavaConnector, ...] = (
    JDBC_SINK,
    JDBC_SOURCE,
    MIRROR_SOURCE,
    AIVEN_HTTP_SINK,
    CONFLUENT_HTTP_SINK,
    CONFLUENT_ELASTICSEARCH_SINK,
    AIVEN_ELASTICSEARCH_SINK,
    OPENSEARCH_SINK,
    replace(OPENSEARCH_SINK, name="io.aiven.kafka.connect.opensearch.OpensearchSinkConnector"),  # the older spelling
    CONFLUENT_S3_SINK,
    AIVEN_S3_SINK,
    JavaConnector(
        f"{MIRRORS}MirrorCheckpointConnector",
        reason="the mirror writes checkpoints itself: set emit.checkpoints.enabled and groups of MirrorSourceConnector",
    ),
    JavaConnector(
        f"{MIRRORS}MirrorHeartbeatConnector",
        reason="the mirror writes heartbeats itself: set emit.heartbeats.enabled of MirrorSourceConnector",
    ),
    JavaConnector("io.debezium.connector.jdbc.", reason="its records are change events; SqlSink writes plain rows"),
    JavaConnector("io.debezium.", reason=NO_CHANGE_LOG),
    JavaConnector("io.aiven.connect.jdbc.", reason=SQL_VARIANT),
    JavaConnector("io.confluent.connect.s3.source.", reason=NO_SOURCE),
    JavaConnector("io.confluent.connect.", reason="the engine has no such connector"),
    JavaConnector("io.aiven.", reason="the engine has no such connector"),
    JavaConnector("io.lenses.", reason="the engine has no such connector"),
    JavaConnector("com.mongodb.kafka.connect.", reason="the engine has no connector for MongoDB"),
    JavaConnector("com.snowflake.kafka.connector.", reason=NO_SINK),
    JavaConnector("com.clickhouse.kafka.connect.", reason=NO_SINK),
    JavaConnector("io.tabular.iceberg.connect.", reason=NO_SINK),
    JavaConnector("org.apache.iceberg.connect.", reason=NO_SINK),
    JavaConnector("org.apache.camel.kafkaconnector.", reason="the engine has no Camel components"),
    JavaConnector("org.apache.kafka.connect.tools.", reason="it is a tool for tests of Kafka itself"),
)


def find_java_connector(class_name: str) -> JavaConnector | None:
    """Return the row of a class, None for a class that the table does not have.

    Short names are accepted, if only one class has them and the engine has no class of this name.
    """
    for row in JAVA_CONNECTORS:
        if class_name == row.name or (row.name.endswith(".") and class_name.startswith(row.name)):
            return row
    rows = [row for row in JAVA_CONNECTORS if class_name in _short_names(row)]
    if len(rows) < 2:
        return next(iter(rows), None)
    names = " and ".join(row.name for row in rows)
    return JavaConnector(class_name, reason=f"{names} have this short name; write the full name")


def _short_names(row: JavaConnector) -> set[str]:
    name = row.name.rpartition(".")[2]
    return {name, name.removesuffix("Connector")} - {"", row.equivalent}


def java_connector_hint(class_name: str) -> str:
    """Return what stands for a Java class here, to end a message with; nothing for an unknown class."""
    row = find_java_connector(class_name)
    if row is None:
        return ""
    if row.equivalent is None:
        return f"; the engine has no equivalent: {row.reason}"
    return f"; use {row.equivalent}, and `python -m engine translate` to convert the configuration"
