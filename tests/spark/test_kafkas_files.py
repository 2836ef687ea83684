"""The configuration files that Kafka ships run as they are, standalone and as a mirror."""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import httpx
import pytest
from confluent_kafka.admin import AdminClient

from demo.broker import LocalBroker
from tests.broker.mirror import Cluster
from tests.spark.engine_process import Topics
from tests.spark.kafkas_files import PLACEHOLDERS, Process, copy, lines

TOPIC = "connect-test"  # the topic of all connectors of Kafka's files
Start = Callable[..., Process]


@pytest.fixture
def topic(broker: str) -> Iterator[str]:
    """Kafka's topic, empty."""
    Cluster(broker).create(TOPIC)
    yield TOPIC
    admin = AdminClient({"bootstrap.servers": broker})
    groups = {f"connect-local-{name}-sink" for name in ("file", "console")}
    existing = {group.group_id for group in admin.list_consumer_groups().result(20).valid}
    for future in admin.delete_consumer_groups(sorted(existing & groups)).values() if existing & groups else ():
        future.result(20)
    admin.delete_topics([TOPIC])[TOPIC].result(20)


@pytest.fixture
def start(tmp_path: Path, broker: str) -> Iterator[Start]:
    """Start `python -m engine` in a directory with copies of Kafka's files for a standalone worker."""
    offsets = str(tmp_path / "connect.offsets")
    replaced = {"localhost:9092": broker, "/tmp/connect.offsets": offsets}
    worker = copy("connect-standalone.properties", tmp_path, replaced)
    started: list[Process] = []

    def run(*connectors: str, stdin: int = subprocess.DEVNULL) -> Process:
        started.append(Process(tmp_path, "standalone", worker, *connectors, stdin=stdin))
        return started[-1]

    for name in ("file-source", "file-sink", "console-source", "console-sink"):
        copy(f"connect-{name}.properties", tmp_path, {})
    yield run
    for process in started:
        process.close()


def test_a_standalone_file_source_and_sink_go_on_after_a_kill(
    start: Start, topic: str, topics: Topics, tmp_path: Path
) -> None:
    source, sink = tmp_path / "test.txt", tmp_path / "test.sink.txt"
    source.write_text("".join(f"a{number}\n" for number in range(500)))
    both = ("connect-file-source.properties", "connect-file-sink.properties")
    first = start(*both)
    first.until(lambda: len(lines(sink)) == 500, "the file is copied")
    first.until(lambda: f'\\"position\\":{source.stat().st_size}' in offsets(tmp_path), "the offset is in the file")
    first.kill()
    with source.open("a") as file:
        file.writelines(f"b{number}\n" for number in range(5000))
    second = start(*both)
    second.until(lambda: "b0" in lines(sink), "it goes on")
    second.kill()  # whatever it has committed by now
    third = start(*both)
    third.until(lambda: third.count("this driver leads") == 3, "it has started")
    third.until(lambda: "b4999" in lines(sink), "it goes on again")
    assert third.stop() == 0
    expected = {*(f"a{number}" for number in range(500)), *(f"b{number}" for number in range(5000))}
    read = Counter(row["payload"] for row in topics.read(topic))
    assert read.keys() == set(lines(sink)) == expected
    # The first part was committed before the first kill.
    assert {count for line, count in read.items() if line.startswith("a")} == {1}


def offsets(folder: Path) -> str:
    return (folder / "connect.offsets").read_text()


def test_console_connectors_read_standard_input_and_write_standard_output(start: Start, topic: str) -> None:
    process = start("connect-console-source.properties", "connect-console-sink.properties", stdin=subprocess.PIPE)
    typed = process.process.stdin
    assert typed is not None
    typed.write(b"one\ntwo\nthr")
    typed.flush()
    process.until(lambda: lines(process.output) == ["one", "two"], "whole lines come out")
    typed.write(b"ee\n")
    typed.close()
    process.until(lambda: lines(process.output) == ["one", "two", "three"], "the rest comes out")
    assert process.stop() == 0


def test_standard_input_of_a_later_run_is_read_from_its_beginning(start: Start, topic: str, tmp_path: Path) -> None:
    for text in (b"a longer line\n", b"short\n"):
        process = start("connect-console-source.properties", "connect-console-sink.properties", stdin=subprocess.PIPE)
        assert process.process.stdin is not None
        process.process.stdin.write(text)
        process.process.stdin.flush()
        process.until(partial(_is_out, process, text.decode().strip()), "the line comes out")
        assert process.stop() == 0


def _is_out(process: Process, line: str) -> bool:
    return line in lines(process.output)


def test_a_standalone_worker_writes_no_topic_of_its_own(start: Start, topic: str, broker: str, tmp_path: Path) -> None:
    (tmp_path / "test.txt").write_text("x\n")
    before = set(Cluster(broker).mirror_admin.topics())
    process = start("connect-file-source.properties", "connect-file-sink.properties")
    process.until(lambda: lines(tmp_path / "test.sink.txt") == ["x"], "the file is copied")
    assert process.stop() == 0
    assert set(Cluster(broker).mirror_admin.topics()) - before <= {"__consumer_offsets"}
    assert "file.connectors.root" in process.log()


@pytest.fixture
def clusters(broker: str, second_broker: LocalBroker) -> Iterator[tuple[Cluster, Cluster]]:
    """Two clusters. Topics that the test makes are removed: other tests' mirrors would copy its heartbeats."""
    both = Cluster(broker), Cluster(second_broker.bootstrap_servers)
    before = [set(one.mirror_admin.topics()) for one in both]
    yield both
    for one, known in zip(both, before, strict=True):
        admin = AdminClient({"bootstrap.servers": one.servers})  # it must live until the futures are done
        made = sorted(set(Cluster(one.servers).mirror_admin.topics()) - known)
        for future in admin.delete_topics(made).values() if made else ():
            future.result(20)


def test_kafkas_distributed_file_starts_a_cluster(tmp_path: Path, clusters: tuple[Cluster, Cluster]) -> None:
    servers = clusters[1].servers
    name = copy("connect-distributed.properties", tmp_path, {"localhost:9092": servers})
    process = Process(tmp_path, "run", name)
    try:
        process.until(lambda: "this driver leads" in process.log(), "it leads")
        assert process.stop() == 0
    finally:
        process.close()
    made = Cluster(servers).mirror_admin.topics()
    assert {"connect-configs", "connect-offsets", "connect-status"} <= made.keys()


def test_mirror_makers_file_mirrors_both_ways_and_each_record_once(
    tmp_path: Path, clusters: tuple[Cluster, Cluster]
) -> None:
    name = f"mm-{tmp_path.name.replace('_', '-')}"
    first, second = clusters
    file = copy(
        "connect-mirror-maker.properties",
        tmp_path,
        {
            PLACEHOLDERS["A"]: first.servers,
            PLACEHOLDERS["B"]: second.servers,
            "A->B.topics = .*": f"A->B.topics = {name}.*",
            "B->A.topics = .*": f"B->A.topics = {name}.*",
        },
    )
    for letter, cluster in (("a", first), ("b", second)):
        cluster.send(cluster.create(f"{name}-{letter}"), [b"%d" % number for number in range(100)])
    # MirrorMaker 2 has copied this topic up to record 39.
    first.send(first.create(f"{name}-begun"), [b"%d" % number for number in range(100)])
    second.create("mm2-offsets.A.internal", 1, {"cleanup.policy": "compact"})
    key = ["MirrorSourceConnector", {"cluster": "A", "partition": 0, "topic": f"{name}-begun"}]
    second.send("mm2-offsets.A.internal", [b'{"offset":39}'], key=json.dumps(key, separators=(",", ":")).encode())
    process = Process(tmp_path, "mirror", file)
    try:
        process.until(
            lambda: all(
                topic in cluster.mirror_admin.topics() and len(cluster.values(topic)) >= count
                for cluster, topic, count in (
                    (second, f"A.{name}-a", 100),
                    (first, f"B.{name}-b", 100),
                    (second, f"A.{name}-begun", 60),
                )
            ),
            "both directions are mirrored",
        )
        process.until(
            lambda: all(
                cluster.mirror_admin.topics().keys() >= {"heartbeats", f"{alias}.checkpoints.internal"}
                and cluster.values("heartbeats")
                for cluster, alias in ((second, "A"), (first, "B"))
            ),
            "heartbeats and checkpoints are there",
        )
        assert process.stop() == 0
    finally:
        process.close()
    expected = [b"%d" % number for number in range(100)]
    assert second.values(f"A.{name}-a") == expected
    assert first.values(f"B.{name}-b") == expected
    assert second.values(f"A.{name}-begun") == expected[40:]
    # A mirrored topic does not go back.
    assert f"B.A.{name}-a" not in first.mirror_admin.topics()


def test_a_json_file_may_start_a_connector_paused(start: Start, topic: str, topics: Topics, tmp_path: Path) -> None:
    (tmp_path / "test.txt").write_text("x\n")
    config = {"connector.class": "FileStreamSource", "file": "test.txt", "topic": topic}
    body = {"name": "paused", "config": config, "initial_state": "PAUSED"}
    (tmp_path / "paused.json").write_text(json.dumps(body))
    process = start("paused.json")

    def is_paused() -> bool:
        try:
            status = httpx.get(f"{process.url}/connectors/paused/status")
        except httpx.TransportError:  # the API does not listen yet
            return False
        return status.status_code == 200 and status.json()["connector"]["state"] == "PAUSED"

    process.until(is_paused, "the connector is paused")
    assert process.stop() == 0
    assert topics.size(topic) == 0
