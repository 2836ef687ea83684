"""sink-http, sink-http-batch, sink-elasticsearch, sink-objects, sink-delta: each sink against a loop by hand.

Our side runs 2 tasks with JsonConverter and a dead letter topic. The anchor is
`benchmarks/client_loop.py` in two processes. Both write to the same target: a server that accepts
everything at once, a real OpenSearch node, or a folder. The rate is the slope of the offsets that
their groups commit.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

from benchmarks.ground import PARTITIONS, BenchmarkSetup, ground
from benchmarks.ours import start_engine
from benchmarks.programs import run_program
from benchmarks.rates import committed_rate
from benchmarks.results import BenchmarkResult
from benchmarks.rounds import compare, records
from benchmarks.sinks import TOPIC, events
from dlqadmin.host.network import free_ports
from tests.support.opensearch import OpenSearchNode

SINK = """\
name={name}
connector.class={sink}
tasks.max=2
topics={topic}
key.converter=org.apache.kafka.connect.storage.StringConverter
value.converter=org.apache.kafka.connect.json.JsonConverter
value.converter.schemas.enable=false
errors.tolerance=all
errors.deadletterqueue.topic.name={name}.dlq
errors.deadletterqueue.topic.replication.factor=1
"""


class ComparedSink(NamedTuple):
    """A sink of the comparison: the loop's kind, our class and options, and the number of records."""

    kind: str
    sink: str
    options: str
    records: int


HTTP = ComparedSink("http", "HttpSink", "http.url={target}/in\n", 30_000)
BATCH = ComparedSink("http-batch", "HttpSink", "http.url={target}/in\nbatching.enabled=true\n", 1_000_000)
SEARCH = ComparedSink(
    "elasticsearch", "ElasticsearchSink", "connection.url={target}\nkey.ignore=true\nbatch.size=1000\n", 100_000
)
OBJECTS = ComparedSink("objects", "ObjectStoreSink", "local.directory={target}\n", 1_500_000)
DELTA = ComparedSink("delta", "DeltaSink", "local.directory={target}\nauto.create=true\nauto.evolve=true\n", 500_000)


def run_http() -> BenchmarkResult:
    """Compare requests of one record each."""
    return _run(HTTP)


def run_http_batch() -> BenchmarkResult:
    """Compare requests of 500 records each."""
    return _run(BATCH)


def run_elasticsearch() -> BenchmarkResult:
    """Compare documents in OpenSearch."""
    return _run(SEARCH)


def run_objects() -> BenchmarkResult:
    """Compare objects in a folder with lines that are appended to a file."""
    return _run(OBJECTS)


def run_delta() -> BenchmarkResult:
    """Compare rows of a Delta Lake table in a folder."""
    return _run(DELTA)


def _run(one: ComparedSink) -> BenchmarkResult:
    count = records(one.records)
    with ground() as where, _target(one, where) as target:
        where.fill(TOPIC, events(), count)
        return compare(
            f"sink-{one.kind}",
            partial(_ours, one, where, target, count),
            partial(_loop, one, where, target, count),
            goal=None,
        )


def _ours(one: ComparedSink, where: BenchmarkSetup, target: str, count: int, run: str) -> float:
    folder = where.folder / run
    text = SINK.format(name=run, sink=one.sink, topic=TOPIC) + one.options.format(target=target)
    # Each round writes all records.
    text += {OBJECTS: f"topics.dir={run}\n", DELTA: f"table.path={run}\n"}.get(one, "")
    with start_engine(folder, where.bootstrap, run, text) as program:
        return committed_rate(where, f"connect-{run}", TOPIC, count, program)


def _loop(one: ComparedSink, where: BenchmarkSetup, target: str, count: int, run: str) -> float:
    target = f"{target}/{run}" if one is DELTA else target
    command = [sys.executable, "-m", "benchmarks.client_loop", one.kind, target, where.bootstrap, run, TOPIC]
    with ExitStack() as stack:
        for first in range(2):
            share = map(str, range(first, PARTITIONS, 2))
            program = stack.enter_context(run_program([*command, *share], where.folder / f"{run}-{first}.log"))
        return committed_rate(where, run, TOPIC, count, program)


@contextmanager
def _target(one: ComparedSink, where: BenchmarkSetup) -> Iterator[str]:
    """Start the target of a comparison and yield its URL, or its folder."""
    if one is SEARCH:
        node = OpenSearchNode(Path(tempfile.mkdtemp(dir=where.folder))).start()
        try:
            yield node.url
        finally:
            node.kill()
    elif one in {OBJECTS, DELTA}:
        folder = where.folder / "objects"
        folder.mkdir()
        yield str(folder)
    else:
        port = free_ports(1)[0]
        command = [sys.executable, "-m", "benchmarks.http_target", str(port)]
        with run_program(command, where.folder / "target.log", port):
            yield f"http://127.0.0.1:{port}"
