"""What people would use instead: real Kafka Connect, tuned so that the comparison is fair."""

from __future__ import annotations

import subprocess
from pathlib import Path

from demo.jars import KAFKA_HOME, KAFKA_VERSION, class_path

CONNECT_HOME = KAFKA_HOME.parent / "connect"
CONNECT_MODULES = (
    *(
        f"org.apache.kafka:{name}:{KAFKA_VERSION}"
        for name in ("connect-runtime", "connect-json", "connect-transforms", "connect-file")
    ),
    "org.slf4j:slf4j-simple:1.7.36",
)

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


def start_connect(folder: Path, bootstrap: str, port: int, connector: str) -> subprocess.Popen[bytes]:
    """Kafka Connect standalone with one connector; `connector` is the text of its properties."""
    folder.mkdir(parents=True)
    (folder / "worker.properties").write_text(WORKER.format(bootstrap=bootstrap, folder=folder, port=port))
    (folder / "connector.properties").write_text(connector)
    command = [
        "java",
        "-Xmx1500m",
        "-cp",
        class_path(CONNECT_HOME, CONNECT_MODULES),
        "org.apache.kafka.connect.cli.ConnectStandalone",
    ]
    with (folder / "connect.log").open("wb") as log:
        return subprocess.Popen(
            [*command, str(folder / "worker.properties"), str(folder / "connector.properties")],
            stdout=log,
            stderr=subprocess.STDOUT,
        )
