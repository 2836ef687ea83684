"""`python -m tests.chaos --runs N [--seed S] [--only sink,sql,…]`: disturbs a running engine and counts the records.

The same seed is the same workload and the same events; `--weak` runs what is only at least once, to see doubles found.
`--book FILE --kills N` goes on with the series of runs that the file has, until so many processes were killed.
"""

from __future__ import annotations

import argparse
import logging
import shutil
import signal
import sys
import tempfile
from functools import partial
from pathlib import Path

from tests.chaos.run_book import RunBook
from tests.chaos.runs import Totals, run
from tests.chaos.workloads.kinds import KINDS
from tests.chaos.world import World


def main() -> int:
    """0 if every record arrived once, in order, in every run."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0, help="of the first run; each next one has the next number")
    parser.add_argument("--events", type=int, default=3, help="how often something happens in a run")
    parser.add_argument("--only", default=",".join(KINDS), help=f"comma-separated, of {','.join(KINDS)}")
    parser.add_argument("--weak", action="store_true", help="at least once: doubles are to be expected")
    parser.add_argument("--book", type=Path, help="the file of a series of runs, to go on with")
    parser.add_argument("--kills", type=int, default=1000, help="of the whole series; --runs limits this part of it")
    parser.add_argument("--keep-going", action="store_true", help="go on after a run that failed")
    options = parser.parse_args()
    kinds = options.only.split(",")
    if unknown := set(kinds) - set(KINDS):
        parser.error(f"no such workload: {', '.join(sorted(unknown))}")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by a signal"))  # in order: nothing is left running
    logging.getLogger("httpx").setLevel(logging.WARNING)
    home = Path(tempfile.mkdtemp(prefix="chaos-"))
    print(f"logs are in {home}", flush=True)
    totals, book = Totals(), RunBook(options.book) if options.book else None
    first = options.seed if book is None else book.next_seed
    world = World(home)
    try:
        world.start()
        for seed in range(first, first + options.runs):
            if book is not None and book.kills >= options.kills:
                break
            kind = kinds[seed % len(kinds)]
            result = run(world, kind, partial(KINDS[kind], weak=options.weak), seed, options.events)
            totals.add(result)
            if book is not None:
                book.add(result)
            print(result, flush=True)
            if not result.is_clean and not options.keep_going:
                break
    except KeyboardInterrupt:
        print("interrupted")
    finally:
        world.close()
    print(totals)
    if book is not None:
        print(f"the whole series in {options.book}:\n{book}")
    if totals.failed:
        seeds = ", ".join(str(one.seed) for one in totals.failed)
        print(f"failed: seed {seeds}, with --only {options.only}; logs are kept in {home}")
        return 1
    shutil.rmtree(home, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
