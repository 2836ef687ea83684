"""sink-lanes: one partition into an HTTP API that answers after 20 ms, in 16 lanes against one.

Both sides are HttpSink with one task and JsonConverter; only `put.max.concurrency` differs. Each record
has a key of its own. The rate is the slope of the offsets that their groups commit.
"""

from __future__ import annotations

import sys
from functools import partial

from benchmarks.ground import BenchmarkSetup, ground
from benchmarks.ours import start_engine
from benchmarks.programs import run_program
from benchmarks.rates import committed_rate
from benchmarks.results import BenchmarkResult
from benchmarks.rounds import compare, records
from benchmarks.sinks import TOPIC, events
from dlqadmin.host.network import free_ports

LANES = 16
DELAY_MS = 20
GOAL = 8
FEWER = 6  # one lane gets so many times fewer records, because it needs minutes for all of them
SINK = """\
name={name}
connector.class=HttpSink
tasks.max=1
topics={topic}
http.url={target}/in
put.max.concurrency={lanes}
key.converter=org.apache.kafka.connect.storage.StringConverter
value.converter=org.apache.kafka.connect.json.JsonConverter
value.converter.schemas.enable=false
"""


def run() -> BenchmarkResult:
    """Compare 16 lanes with one."""
    count = records(12_000)
    port = free_ports(1)[0]
    command = [sys.executable, "-m", "benchmarks.http_target", str(port), str(DELAY_MS)]
    with ground() as where, run_program(command, where.folder / "target.log", port):
        side = partial(_rate, where, f"http://127.0.0.1:{port}")
        for lanes, own in ((LANES, count), (1, count // FEWER)):
            where.fill(_topic(lanes), events(), own, partitions=1)
        return compare("sink-lanes", partial(side, LANES, count), partial(side, 1, count // FEWER), goal=GOAL)


def _topic(lanes: int) -> str:
    return f"{TOPIC}.{lanes}"


def _rate(where: BenchmarkSetup, target: str, lanes: int, count: int, run: str) -> float:
    text = SINK.format(name=run, topic=_topic(lanes), target=target, lanes=lanes)
    with start_engine(where.folder / run, where.bootstrap, run, text) as program:
        return committed_rate(where, f"connect-{run}", _topic(lanes), count, program)
