"""Apache Kafka's jars, fetched once with the Ivy that PySpark ships.

`python -m demo.jars` fetches the broker's jars into `.local/kafka`.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

KAFKA_VERSION = "4.1.0"
BROKER_MODULES = (f"org.apache.kafka:kafka_2.13:{KAFKA_VERSION}", "org.slf4j:slf4j-simple:1.7.36")
KAFKA_HOME = Path(__file__).resolve().parent.parent / ".local" / "kafka"
UNWANTED = ("-sources.jar", "-javadoc.jar", "-test.jar")


class FetchFailed(Exception):
    """The jars could not be fetched; the message is one sentence for a person."""


def class_path(home: Path = KAFKA_HOME, modules: Iterable[str] = BROKER_MODULES) -> str:
    """Return a Java class path of the modules and all they need, fetching them the first time."""
    if not home.is_dir():
        fetch(home, modules)
    return f"{home}/*"


def fetch(home: Path, modules: Iterable[str]) -> None:
    """Fetch `group:artifact:version` modules into `home`; whole or not at all, also when two fetch at once."""
    home.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="jars-", dir=home.parent) as scratch:
        wanted = Path(scratch, "ivy.xml")
        wanted.write_text(_ivy_file(modules))
        fetched = Path(scratch, "jars")
        command = ["java", "-cp", _spark_jars(), "org.apache.ivy.Main", "-ivy", str(wanted)]
        command += ["-confs", "default", "-retrieve", f"{fetched}/[artifact]-[revision].[ext]"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0 or not any(fetched.glob("*.jar")):
            Path(home.parent, "ivy.log").write_text(done.stdout + done.stderr)
            raise FetchFailed(f"Kafka's jars could not be fetched from Maven Central; see {home.parent}/ivy.log.")
        for jar in fetched.iterdir():
            if jar.name.endswith(UNWANTED):
                jar.unlink()
        if not home.is_dir():
            shutil.move(fetched, home)


def _ivy_file(modules: Iterable[str]) -> str:
    rows = []
    for module in modules:
        group, artifact, version = module.split(":")
        rows.append(f'    <dependency org="{group}" name="{artifact}" rev="{version}" conf="default->default"/>')
    return "\n".join(
        [
            '<ivy-module version="2.0">',
            '  <info organisation="local" module="jars"/>',
            '  <configurations><conf name="default"/></configurations>',
            "  <dependencies>",
            *rows,
            "  </dependencies>",
            "</ivy-module>",
        ]
    )


def _spark_jars() -> str:
    import pyspark  # here, so that a machine with the jars needs no PySpark to start a broker

    return f"{Path(pyspark.__file__).parent}/jars/*"


if __name__ == "__main__":
    try:
        class_path()
    except FetchFailed as problem:
        sys.exit(str(problem))
