"""`python -m benchmarks [name …]`: run the named benchmarks, or all."""

from __future__ import annotations

import sys
from collections.abc import Callable

from benchmarks import connect_clean, exactly_once

BENCHMARKS: dict[str, Callable[[], object]] = {"connect-clean": connect_clean.run, "exactly-once": exactly_once.run}


def main(names: list[str]) -> int:
    """Run the named benchmarks, or all; 2 for an unknown name."""
    unknown = [name for name in names if name not in BENCHMARKS]
    if unknown:
        print(f"unknown benchmark {unknown[0]!r}; there are: {', '.join(BENCHMARKS)}", file=sys.stderr)
        return 2
    for name in names or BENCHMARKS:
        BENCHMARKS[name]()
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
