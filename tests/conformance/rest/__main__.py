"""`python -m tests.conformance.rest [recorded | record]`: the same requests to Kafka Connect and to the engine.

With `recorded`, Kafka Connect's answers are the recorded ones; `record` writes them anew. Exit code 1: an undocumented
difference, or a documented one that is gone.
"""

from __future__ import annotations

import json
import logging
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.conformance.rest.answers import answers
from tests.conformance.rest.judgement import RECORDED, judge, recorded
from tests.conformance.rest.requests import STEPS
from tests.conformance.rest.workers import connect_worker, engine_worker


def main(arguments: Sequence[str]) -> int:
    """Run, print, judge."""
    with tempfile.TemporaryDirectory(prefix="conformance-rest-") as name:
        theirs = recorded() if "recorded" in arguments else _ask_connect(Path(name, "connect"))
        if "record" in arguments:
            RECORDED.write_text(json.dumps(theirs, indent=1, sort_keys=True, ensure_ascii=False) + "\n")
            print(f"{len(theirs)} answers written to {RECORDED}")
            return 0
        with engine_worker(Path(name, "engine")) as worker:
            ours = {name: one.document() for name, one in answers(worker.http, worker.folder, STEPS).items()}
    judgement = judge(theirs, ours)
    print(*judgement.lines(), sep="\n")
    return 1 if judgement.unknown or judgement.stale else 0


def _ask_connect(home: Path) -> dict[str, Any]:
    with connect_worker(home) as worker:
        return {name: one.document() for name, one in answers(worker.http, worker.folder, STEPS).items()}


if __name__ == "__main__":
    logging.basicConfig(format="%(message)s", level=logging.WARNING)
    sys.exit(main(sys.argv[1:]))
