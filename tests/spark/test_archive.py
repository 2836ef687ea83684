"""The archive of Spark's classes: it is made, and used by the JVMs that it fits."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from engine.spark.java import QUICK_START, driver_options

ROOT = Path(__file__).resolve().parents[2]
START = """
import sys
from pathlib import Path
from engine.spark.archive import make
from engine.spark.java import driver_options
from engine.spark.runner import start

archive, log = map(Path, sys.argv[1:])
if not archive.exists():
    make(archive)
else:
    options = f"{driver_options(archive)} -Xlog:class+load:file={log}"
    start("local[1]", "test", {"spark.driver.extraJavaOptions": options}).stop()
"""


def start(archive: Path, log: Path) -> None:
    subprocess.run([sys.executable, "-c", START, archive, log], cwd=ROOT, check=True, capture_output=True)


def test_a_driver_takes_sparks_classes_from_the_archive(tmp_path: Path) -> None:
    archive, log = tmp_path / "with a blank" / "spark.jsa", tmp_path / "loaded"
    start(archive, log)
    start(archive, log)
    loaded = [line for line in log.read_text().splitlines() if " org.apache.spark.SparkContext " in line]
    assert len(loaded) == 1
    assert "shared objects file" in loaded[0]


def test_a_driver_starts_with_an_archive_that_does_not_fit(tmp_path: Path) -> None:
    archive, log = tmp_path / "spark.jsa", tmp_path / "loaded"
    archive.write_bytes(b"of another Java")
    start(archive, log)
    assert "source: jrt:/java.base" in log.read_text()


def test_without_an_archive_nothing_is_asked_of_it(tmp_path: Path) -> None:
    assert driver_options(tmp_path / "spark.jsa") == QUICK_START
