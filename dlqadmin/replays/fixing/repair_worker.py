"""Says what broken JSON was meant to be, in a process of its own: the text comes in, its JSON goes out.

It imports nothing of ours, and is started without an environment. It ends with 1 where nothing is to be made of it.
"""

from __future__ import annotations

import resource
import sys
from typing import BinaryIO

MEMORY_BYTES = 512 * 1024 * 1024
CPU_S = 10


def main(source: BinaryIO, sink: BinaryIO) -> int:
    """Read the text, write the JSON; the exit status."""
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
