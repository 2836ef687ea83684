"""mirror, mirror-eos: the mirror connector against MirrorMaker 2, 2 tasks each, one topic.

* `mirror`: at least once on both sides; our side with connector.type=sink
* `mirror-eos`: exactly once; our side with transaction.producer=true (KIP-656), MirrorMaker 2 with
  exactly.once.source.support (KIP-618). Transactions last a second on both sides.

Both clusters are one broker under two aliases. MirrorMaker 2 is tuned for throughput
(`benchmarks/anchors.py`), and compresses as our side does by default.

The rate is the speed at which records arrive in the target, because MirrorMaker 2 commits to no
group. It is the slope of the end offsets, or of the last stable offsets for exactly once.
"""

from __future__ import annotations

from functools import partial

from benchmarks.anchors import start_mirrormaker
from benchmarks.ground import BenchmarkSetup, ground
from benchmarks.ours import start_engine
from benchmarks.rates import written_rate
from benchmarks.results import BenchmarkResult
from benchmarks.rounds import compare, records
from benchmarks.sinks import TOPIC, events

RECORDS = records(1_500_000)
MIRROR = """\
name={name}
connector.class=mirror
connector.type=sink
transaction.producer={once}
tasks.max=2
source.cluster.alias={name}
target.cluster.alias=B
source.cluster.bootstrap.servers={bootstrap}
topics={topic}
replication.factor=1
emit.heartbeats.enabled=false
errors.tolerance=all
errors.deadletterqueue.topic.name={name}.dlq
errors.deadletterqueue.topic.replication.factor=1
"""


def run() -> BenchmarkResult:
    """Compare at-least-once mirrors, print and write the result."""
    return _run("mirror", goal=2.5, once=False)


def run_eos() -> BenchmarkResult:
    """Compare exactly-once mirrors, print and write the result."""
    return _run("mirror-eos", goal=2.0, once=True)


def _run(name: str, goal: float, *, once: bool) -> BenchmarkResult:
    with ground() as where:
        where.fill(TOPIC, events(), RECORDS)
        return compare(name, partial(_ours, where, once), partial(_anchor, where, once), goal)


def _ours(where: BenchmarkSetup, once: bool, run: str) -> float:
    text = MIRROR.format(name=run, bootstrap=where.bootstrap, topic=TOPIC, once=str(once).lower())
    starting = start_engine(where.folder / run, where.bootstrap, run, text)
    return written_rate(where, f"{run}.{TOPIC}", RECORDS, starting, once=once)


def _anchor(where: BenchmarkSetup, once: bool, run: str) -> float:
    starting = start_mirrormaker(where.folder / run, where.bootstrap, run, TOPIC, exactly_once=once)
    return written_rate(where, f"{run}.{TOPIC}", RECORDS, starting, once=once)
