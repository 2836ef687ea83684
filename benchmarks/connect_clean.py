"""connect-clean: a sink connector without a bad record, against Kafka Connect on the same topic.

JsonConverter (schemaless), ReplaceField, file sink to /dev/null, dead letter topic on, 2 tasks.
"""

from __future__ import annotations

from benchmarks.results import Result
from benchmarks.rounds import records
from benchmarks.sinks import DROP, against_connect, events


def run() -> Result:
    """Compare, print and write the result."""
    return against_connect("connect-clean", events(), records(3_000_000), DROP, goal=3.0)
