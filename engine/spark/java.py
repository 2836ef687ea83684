"""The start options of the driver's JVM. It only schedules: records never pass through it.

It starts in half the time when it compiles little. It starts even faster with an archive of Spark's classes, ready to
be used (`engine.spark.archive` makes it). A JVM that the archive does not fit starts without it.
"""

from __future__ import annotations

import sys
from pathlib import Path

QUICK_START = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
ARCHIVE = Path(sys.prefix, "share", "engine", "spark.jsa")  # valid only for the installed Spark


# Without it, Spark's own configuration prints how to change the log level.
LOGGING = f'"-Dlog4j2.configurationFile={Path(__file__).with_name("log4j2.properties")}"'


def driver_options(archive: Path = ARCHIVE) -> str:
    """Return the JVM's options, with the archive if it exists."""
    if not archive.exists():
        return QUICK_START
    return f'{QUICK_START} "-XX:SharedArchiveFile={archive}" -Xlog:cds=off -Xlog:cds+dynamic=off'
