"""`python -m tests.conformance [word …]`: real Kafka Connect and the engine side by side, and a table of what differs.

The word `rest` compares the REST APIs instead (`tests/conformance/rest`), and `clients` runs clients by others
(`tests/conformance/clients`). Without words, all three parts are run. With other words, only configurations whose names
contain one of them are run. Exit code 1: an undocumented difference, or a documented one that is gone.
"""

from __future__ import annotations

import logging
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from demo.broker import LocalBroker
from tests.conformance import sides
from tests.conformance.case import Case
from tests.conformance.cases import CASES
from tests.conformance.clients import __main__ as clients
from tests.conformance.compare import differences
from tests.conformance.documented import PAGE, documented, gone, undocumented
from tests.conformance.rest import __main__ as rest
from tests.conformance.rest.compare import PREFIX
from tests.conformance.running import run
from tests.conformance.seen import Seen
from tests.conformance.steps import half_shown
from tests.conformance.table import lines


def main(words: Sequence[str]) -> int:
    """Run the parts, print, judge."""
    if "rest" in words:
        return rest.main(words)
    if "clients" in words:
        return clients.main([word for word in words if word != "clients"])
    return max(run_cases(words), *([] if words else [rest.main(()), clients.main(())]))


def run_cases(words: Sequence[str]) -> int:
    """Run the configurations, print, judge."""
    cases = [case for case in CASES if not words or any(word in case.name for word in words)]
    if not cases:
        print(f"no configuration is called {' or '.join(words)}", file=sys.stderr)
        return 2
    started = time.monotonic()
    theirs, ours = seen(cases)
    rows = [row for row in documented(PAGE.read_text()) if not row.patterns[0].startswith(PREFIX)]
    found: list[str] = []
    for case in cases:
        different = differences(case, theirs[case.name], ours[case.name])
        found += [one.where for one in different]
        print(*lines(case, theirs[case.name], different, rows), sep="\n")
    unknown, stale = undocumented(found, rows), [] if words else gone(found, rows)
    unshown = [] if words else half_shown(cases, theirs)
    for pattern in stale:
        print(f"docs/differences.md: `{pattern}` differs no longer")
    for step in unshown:
        print(f"{step} is not shown with both good and bad input")
    inputs, seconds = sum(len(case.inputs) for case in cases), time.monotonic() - started
    print(f"\n{len(cases)} configurations, {inputs} inputs: {len(unknown)} undocumented differences in {seconds:.0f} s")
    return 1 if unknown or stale or unshown else 0


def seen(cases: Sequence[Case]) -> list[dict[str, Seen]]:
    """What Kafka Connect and the engine made of the cases."""
    with tempfile.TemporaryDirectory(prefix="conformance-") as name:
        folder = Path(name)
        broker = LocalBroker(folder / "broker").start()
        bootstrap = broker.bootstrap_servers
        try:
            with sides.kafka_connect(folder, bootstrap) as theirs, sides.engine(folder, bootstrap) as ours:
                return run((theirs, ours), cases, bootstrap)
        finally:
            broker.stop()


if __name__ == "__main__":
    logging.basicConfig(format="%(message)s", level=logging.INFO)
    sys.exit(main(sys.argv[1:]))
