"""`python -m engine.spark.archive`: start Spark once and archive its JVM classes for faster starts."""

from __future__ import annotations

import subprocess
from pathlib import Path

from engine.spark.java import ARCHIVE, QUICK_START
from engine.spark.runner import start

END_TIMEOUT_S = 120  # the JVM writes the archive when it ends


def make(archive: Path) -> None:
    """Run a job of one partition, like a lease, and write the archive. Raises if there is none then."""
    archive.parent.mkdir(parents=True, exist_ok=True)
    part = archive.with_suffix(".part")
    java = f'{QUICK_START} "-XX:ArchiveClassesAtExit={part}" -Xlog:disable -Xlog:all=error:stderr'
    context = start("local[1]", "archive", {"spark.driver.extraJavaOptions": java})
    context.setJobGroup("archive", "a job like a lease")
    context.parallelize([0], 1).mapPartitions(list).collect()
    gateway = context._gateway  # noqa: SLF001, PySpark has no other name for it
    context.stop()
    assert gateway is not None
    jvm: subprocess.Popen[bytes] = gateway.proc
    assert jvm.stdin is not None
    jvm.stdin.close()  # the JVM ends when its input closes
    jvm.wait(END_TIMEOUT_S)
    part.replace(archive)


if __name__ == "__main__":
    make(ARCHIVE)
