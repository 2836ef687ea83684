"""Repairs broken JSON with json-repair, in a process of its own: from stdin to stdout.

It is started without an environment and imports none of our modules. It exits with 1 if the text can't be repaired.
"""

from __future__ import annotations

import resource
import sys
from typing import BinaryIO

MEMORY_BYTES = 512 * 1024 * 1024
CPU_S = 10


def main(source: BinaryIO, sink: BinaryIO) -> int:
    """Read the text and write the JSON. Return the exit status."""
    from json_repair import repair_json

    for limit, value in (
        (resource.RLIMIT_AS, MEMORY_BYTES), (resource.RLIMIT_CPU, CPU_S), (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
    ):  # fmt: skip
        resource.setrlimit(limit, (value, value))
    try:
        meant = repair_json(source.read().decode(), ensure_ascii=False)
    except (ValueError, RecursionError, MemoryError):  # not UTF-8, or nested too deeply
        return 1
    sink.write(str(meant).encode("utf-8", "surrogatepass"))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.stdin.buffer, sys.stdout.buffer))
