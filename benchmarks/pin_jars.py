"""Write the SHA-256 of all jars to `demo/jars.sha256`.

The jars are those of the broker, Kafka Connect, MirrorMaker 2, OpenSearch, Kafka's commands, Hadoop's mini-cluster and
Spark's Kafka source. Run `make pin-jars` after a change of versions, and compare the result with the checksums on
Maven Central.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from benchmarks.anchors import CONNECT_MODULES, MIRROR_MODULES, SEARCH_MODULES, YARN_MODULES
from demo.jars import BROKER_MODULES, PINS, SPARK_KAFKA_MODULES, TOOLS_MODULES, fetch, sha256

MODULES = (BROKER_MODULES, CONNECT_MODULES, MIRROR_MODULES, SEARCH_MODULES, YARN_MODULES)


def main() -> None:
    """Fetch all jars into a temporary folder and write their SHA-256."""
    found: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as scratch:
        for number, modules in enumerate(MODULES):
            home = Path(scratch, str(number))
            fetch(home, modules, pinned=None)
            found |= {jar.name: sha256(jar) for jar in home.iterdir()}
        for name, modules in (("spark-kafka", SPARK_KAFKA_MODULES), ("tools", TOOLS_MODULES)):
            home = Path(scratch, name)
            fetch(home, modules, pinned=None, configuration="master")
            found |= {jar.name: sha256(jar) for jar in home.iterdir()}
    PINS.write_text("".join(f"{found[name]}  {name}\n" for name in sorted(found)))


if __name__ == "__main__":
    main()
