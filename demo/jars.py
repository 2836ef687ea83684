"""Apache Kafka's jars, fetched once with the Ivy that PySpark ships.

`python -m demo.jars` fetches the broker's jars into `.local/kafka`. Each jar must have the SHA-256
in `jars.sha256`. After a change of versions, `make pin-jars` rewrites that file.
"""

from __future__ import annotations

import fcntl
import hashlib
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

KAFKA_VERSION = "4.1.0"
BROKER_MODULES = (f"org.apache.kafka:kafka_2.13:{KAFKA_VERSION}", "org.slf4j:slf4j-simple:1.7.36")
TOOLS_MODULES = (f"org.apache.kafka:kafka-tools:{KAFKA_VERSION}",)  # Kafka's commands, which need the broker's jars
# Kafka's source for Spark DataFrames. Spark itself has all that these need beside them.
SPARK_KAFKA_MODULES = (
    "org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0",
    "org.apache.spark:spark-token-provider-kafka-0-10_2.13:4.2.0",
    "org.apache.kafka:kafka-clients:3.9.1",
    "org.apache.commons:commons-pool2:2.12.1",
)
SPARK_KAFKA_HOME = Path(__file__).resolve().parent.parent / ".local" / "spark-kafka"
KAFKA_HOME = Path(__file__).resolve().parent.parent / ".local" / "kafka"
PINS = Path(__file__).with_name("jars.sha256")  # in the format of sha256sum
_IVY_FILE = """\
<ivy-module version="2.0" xmlns:m="http://ant.apache.org/ivy/maven">
  <info organisation="local" module="files"/>
  <configurations><conf name="default"/></configurations>
  <dependencies>{}</dependencies>
</ivy-module>
"""
UNWANTED = ("-sources.jar", "-javadoc.jar", "-test.jar")


class FetchFailed(Exception):
    """The jars could not be fetched. The message is one sentence for the user."""


def class_path(home: Path = KAFKA_HOME, modules: Iterable[str] = BROKER_MODULES) -> str:
    """Return a Java class path of the modules and their dependencies; fetch them the first time."""
    fetch(home, modules, pins())
    return f"{home}/*"


def spark_kafka_jars(home: Path = SPARK_KAFKA_HOME) -> str:
    """Return the jars of Spark's Kafka source for the option `spark.jars`; fetch them the first time."""
    fetch(home, SPARK_KAFKA_MODULES, pins(), configuration="master")
    return ",".join(map(str, sorted(home.iterdir())))


def fetch(home: Path, modules: Iterable[str], pinned: Mapping[str, str] | None, configuration: str = "default") -> None:
    """Fetch `group:artifact:version` modules into `home`, unless it is there. Raises FetchFailed.

    The `configuration` `default` includes what they depend on, `master` only themselves. Each jar is compared with its
    pinned SHA-256. `pinned=None` accepts every jar, in order to pin them.
    """

    def unpack(fetched: Path, _scratch: Path) -> Path:
        for jar in fetched.iterdir():
            if jar.name.endswith(UNWANTED):
                jar.unlink()
        if pinned is not None:
            check(fetched, pinned)
        return fetched

    install(home, "\n".join(_dependency(module, configuration) for module in modules), unpack)


def install(home: Path, dependencies: str, unpack: Callable[[Path, Path], Path]) -> None:
    """Make the folder `home` of the files of Ivy's `<dependency>` elements, unless it is there. Raises FetchFailed.

    `unpack` is given a folder with the files and an empty one, checks and unpacks them, and returns the folder that is
    to become `home`. It becomes that complete or not at all. Of several processes, one fetches, and the others wait.
    """
    if home.is_dir():
        return
    home.parent.mkdir(parents=True, exist_ok=True)
    with _alone(), tempfile.TemporaryDirectory(prefix="fetch-", dir=home.parent) as scratch:
        if not home.is_dir():  # another process may have made it meanwhile
            free = Path(scratch, "unpacked")
            free.mkdir()
            shutil.move(unpack(_retrieve(Path(scratch), dependencies, home.parent), free), home)


@contextmanager
def _alone() -> Iterator[None]:
    """Wait until no other process fetches: two at once spoil the files of each other in Ivy's cache."""
    lock = Path.home() / ".ivy2" / "dlqadmin.lock"
    lock.parent.mkdir(exist_ok=True)
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _retrieve(scratch: Path, dependencies: str, logs: Path) -> Path:
    """Return a folder with the files of Ivy's `<dependency>` elements. Raises FetchFailed, with a log in `logs`."""
    wanted, fetched = scratch / "ivy.xml", scratch / "fetched"
    wanted.write_text(_IVY_FILE.format(dependencies))
    command = ["java", "-cp", _spark_jars(), "org.apache.ivy.Main", "-ivy", str(wanted)]
    command += ["-confs", "default", "-retrieve", f"{fetched}/[artifact]-[revision].[ext]"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0 or not fetched.is_dir():
        (logs / "ivy.log").write_text(done.stdout + done.stderr)
        raise FetchFailed(f"Files could not be fetched from Maven Central; see {logs}/ivy.log.")
    return fetched


def check(folder: Path, pinned: Mapping[str, str]) -> None:
    """Compare every jar of a folder with its pinned SHA-256. Raises FetchFailed at the first mismatch."""
    for jar in sorted(folder.iterdir()):
        if jar.name not in pinned:
            raise FetchFailed(f"{jar.name} has no SHA-256 in {PINS.name}, so it was not installed.")
        if sha256(jar) != pinned[jar.name]:
            raise FetchFailed(f"{jar.name} does not match its SHA-256 in {PINS.name}, so it was not installed.")


def pins(path: Path = PINS) -> dict[str, str]:
    """Return the pinned SHA-256 of each jar by file name."""
    rows = (line.split() for line in path.read_text().splitlines())
    return {name: digest for digest, name in rows}


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file as hex digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _dependency(module: str, configuration: str) -> str:
    group, artifact, version = module.split(":")
    return f'<dependency org="{group}" name="{artifact}" rev="{version}" conf="default->{configuration}"/>'


def _spark_jars() -> str:
    import pyspark  # imported here, so that a machine that has the jars can start a broker without PySpark

    return f"{Path(pyspark.__file__).parent}/jars/*"


if __name__ == "__main__":
    try:
        class_path()
    except FetchFailed as problem:
        sys.exit(str(problem))
