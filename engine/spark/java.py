"""How the driver's JVM starts. It only schedules: records never pass through it.

It starts in half the time when it compiles little, and sooner still when it finds Spark's classes in an archive of
class data, ready to be used (`engine.spark.archive` makes it). A JVM that the archive does not fit starts without it.
"""

from __future__ import annotations

import sys
from pathlib import Path

QUICK_START = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
ARCHIVE = Path(sys.prefix, "share", "engine", "spark.jsa")  # it belongs to the Spark that is installed beside it


def driver_options(archive: Path = ARCHIVE) -> str:
    """The JVM's options, with the archive where there is one."""
    if not archive.exists():
        return QUICK_START
    return f'{QUICK_START} "-XX:SharedArchiveFile={archive}" -Xlog:cds=off -Xlog:cds+dynamic=off'
