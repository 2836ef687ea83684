"""connect-clean: a sink connector without bad records, against Kafka Connect.

Both sides read the same topic with 2 tasks: JsonConverter (schemaless), ReplaceField, a file sink to
/dev/null, and a dead letter topic.
"""

from __future__ import annotations

from benchmarks.results import BenchmarkResult
from benchmarks.rounds import records
from benchmarks.sinks import DROP, against_connect, events


def run() -> BenchmarkResult:
    """Compare both sides, print and write the result."""
    return against_connect("connect-clean", events(), records(3_000_000), DROP, goal=3.0)
