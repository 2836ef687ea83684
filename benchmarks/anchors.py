"""The alternatives that we compare with: Kafka Connect and MirrorMaker 2, tuned to be fair."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path

from benchmarks.programs import BenchmarkProgram, run_program
from demo.jars import KAFKA_HOME, KAFKA_VERSION, class_path
from dlqadmin.host.network import free_ports

CONNECT_HOME = KAFKA_HOME.parent / "connect"
CONNECT_MODULES = (
    *(
        f"org.apache.kafka:{name}:{KAFKA_VERSION}"
        for name in ("connect-runtime", "connect-json", "connect-transforms", "connect-file")
    ),
    "org.slf4j:slf4j-simple:1.7.36",
)
MIRROR_HOME = KAFKA_HOME.parent / "mirror"
SEARCH_MODULES = (
    "org.opensearch:opensearch:2.19.6",  # the last one for Java 17
    "org.opensearch.plugin:transport-netty4-client:2.19.6",
    "org.apache.logging.log4j:log4j-core:2.25.4",
)
YARN_MODULES = (  # Hadoop's mini-cluster as new as Spark's own Hadoop jars, and what it needs but does not bring
    "org.apache.hadoop:hadoop-client-minicluster:3.5.0",
    "org.junit.jupiter:junit-jupiter-api:5.13.4",
    "org.bouncycastle:bcpkix-jdk18on:1.82",
)
MIRROR_MODULES = (f"org.apache.kafka:connect-mirror:{KAFKA_VERSION}", "org.slf4j:slf4j-simple:1.7.36")

WORKER = """\
bootstrap.servers={bootstrap}
key.converter=org.apache.kafka.connect.storage.StringConverter
value.converter=org.apache.kafka.connect.json.JsonConverter
offset.storage.file.filename={folder}/offsets
offset.flush.interval.ms=1000
plugin.discovery=service_load
plugin.path=
listeners=http://127.0.0.1:{port}
consumer.max.poll.records=5000
consumer.fetch.min.bytes=100000
consumer.max.partition.fetch.bytes=10000000
consumer.fetch.max.bytes=50000000
consumer.auto.offset.reset=earliest
"""

MIRROR = """\
clusters={source},B
{source}.bootstrap.servers={bootstrap}
B.bootstrap.servers={bootstrap}
{source}->B.enabled=true
{source}->B.topics={topic}
{source}->B.emit.heartbeats.enabled=false
B->{source}.enabled=false
B->{source}.emit.heartbeats.enabled=false
tasks.max=2
replication.factor=1
checkpoints.topic.replication.factor=1
heartbeats.topic.replication.factor=1
offset-syncs.topic.replication.factor=1
config.storage.replication.factor=1
offset.storage.replication.factor=1
status.storage.replication.factor=1
plugin.discovery=service_load
plugin.path=
{source}.consumer.max.poll.records=5000
{source}.consumer.fetch.min.bytes=100000
{source}.consumer.max.partition.fetch.bytes=10000000
{source}.consumer.fetch.max.bytes=50000000
{source}->B.producer.linger.ms=20
{source}->B.producer.batch.size=200000
{source}->B.producer.compression.type=lz4
"""
# The default is a transaction per poll. The engine's transactions last a commit interval, so these
# do too.
MIRROR_ONCE = """\
{source}->B.transaction.boundary=interval
{source}->B.transaction.boundary.interval.ms=1000
B.exactly.once.source.support=enabled
dedicated.mode.enable.internal.rest=true
listeners=http://127.0.0.1:{port}
{source}.consumer.isolation.level=read_committed
"""


def start_connect(
    folder: Path, bootstrap: str, *connectors: str, classes: Path | None = None, worker: str = ""
) -> AbstractContextManager[BenchmarkProgram]:
    """Start Kafka Connect standalone.

    `connectors` and `worker` are properties; `classes` is a folder of additional classes.
    """
    folder.mkdir(parents=True)
    port = free_ports(1)[0]
    texts = [WORKER.format(bootstrap=bootstrap, folder=folder, port=port) + worker, *connectors]
    files = [folder / f"{number}.properties" for number in range(len(texts))]
    for file, text in zip(files, texts, strict=True):
        file.write_text(text)
    paths = [class_path(CONNECT_HOME, CONNECT_MODULES), *([] if classes is None else [str(classes)])]
    command = [*_java(":".join(paths)), "org.apache.kafka.connect.cli.ConnectStandalone"]
    return run_program([*command, *map(str, files)], folder / "connect.log", port)


def start_mirrormaker(
    folder: Path, bootstrap: str, source: str, topic: str, *, exactly_once: bool
) -> AbstractContextManager[BenchmarkProgram]:
    """Start MirrorMaker 2 from cluster `source` to cluster B.

    Both clusters are the same broker, so `topic` becomes `<source>.<topic>`.
    """
    folder.mkdir(parents=True)
    port = free_ports(1)[0]
    text = (MIRROR + (MIRROR_ONCE if exactly_once else "")).format(
        bootstrap=bootstrap, source=source, topic=topic, port=port
    )
    file = folder / "mirror.properties"
    file.write_text(text)
    command = [*_java(class_path(MIRROR_HOME, MIRROR_MODULES)), "org.apache.kafka.connect.mirror.MirrorMaker"]
    return run_program([*command, str(file)], folder / "mirrormaker.log", port)


def _java(paths: str) -> list[str]:
    return ["java", "-Xmx1500m", "-Dfile.encoding=UTF-8", "-cp", paths]
