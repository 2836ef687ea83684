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


def start_connect(
    folder: Path, bootstrap: str, port: int, *connectors: str, classes: Path | None = None, worker: str = ""
) -> subprocess.Popen[bytes]:
    """Kafka Connect standalone; `connectors` and `worker` are properties, `classes` a folder of more classes."""
    folder.mkdir(parents=True)
    files = [
        folder / "worker.properties",
        *(folder / f"connector-{number}.properties" for number in range(len(connectors))),
    ]
    texts = [WORKER.format(bootstrap=bootstrap, folder=folder, port=port) + worker, *connectors]
    for file, text in zip(files, texts, strict=True):
        file.write_text(text)
    paths = [class_path(CONNECT_HOME, CONNECT_MODULES), *([] if classes is None else [str(classes)])]
    command = [
        "java",
        "-Xmx1500m",
        "-Dfile.encoding=UTF-8",
        "-cp",
        ":".join(paths),
        "org.apache.kafka.connect.cli.ConnectStandalone",
    ]
    with (folder / "connect.log").open("wb") as log:
        return subprocess.Popen([*command, *map(str, files)], stdout=log, stderr=subprocess.STDOUT)
