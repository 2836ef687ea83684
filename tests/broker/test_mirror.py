"""KIP-656 between two real brokers: what arrives, and where a mirror keeps how far it is."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from uuid import uuid4

import orjson
import pytest

from demo.broker import LocalBroker
from engine.__main__ import main
from engine.assembly.mirror_offsets_command import copy_offsets
from engine.assembly.validation import validate
from engine.config.worker import parse_worker
from engine.worker_messages import LeaseEnd
from tests.broker.conftest import ensure_running
from tests.broker.mirror import ONCE, SINK, Cluster, Mirror, total


@pytest.fixture(scope="module")
def source(second_broker: LocalBroker) -> Cluster:
    """The cluster that is mirrored."""
    return Cluster(ensure_running(second_broker).bootstrap_servers)


@pytest.fixture
def target(broker: str) -> Cluster:
    return Cluster(broker)


def topic_of(source: Cluster, partitions: int = 1, **config: str) -> str:
    return source.create(
        f"t{uuid4().hex[:8]}", partitions, {name.replace("_", "."): one for name, one in config.items()}
    )


KINDS = {"once": ONCE, "sink": SINK, "source": {}}


@pytest.mark.parametrize("kind", KINDS)
def test_records_arrive_as_they_are_and_once(source: Cluster, target: Cluster, kind: str) -> None:
    topic = topic_of(source, 2)
    headers = (("h", b"1"), ("h", None), ("\u00e9", b"\xff"))
    source.send(topic, [b"\x00one", None], 0, b"\xffk", headers, 1_234_567)
    source.send(topic, [b"two", b""], 1)
    mirror = Mirror(source, target, {**KINDS[kind], "topics": topic, "tasks.max": "2"})
    reports = mirror.run()
    assert {report.end for report in reports} == {LeaseEnd.CAUGHT_UP}, reports
    assert total(reports, "records-delivered") == 4, reports
    first, tombstone = target.read(f"A.{topic}", 0)
    assert (first.key, first.value, first.headers, first.timestamp) == (b"\xffk", b"\x00one", headers, 1_234_567)
    assert tombstone.value is None
    assert target.values(f"A.{topic}", 1) == [b"two", b""]
    again = mirror.run()
    assert not any(report.progressed for report in again)
    source.send(topic, [b"three"], 1)
    mirror.run()
    assert target.values(f"A.{topic}", 1) == [b"two", b"", b"three"]
    assert len(target.read(f"A.{topic}", 0)) == 2
    assert {name: at for report in mirror.run() for name, at in report.positions.items()} == {
        f"{topic}-0": 2,
        f"{topic}-1": 3,
    }


def test_positions_of_a_transactional_mirror_are_kept_on_the_target(source: Cluster, target: Cluster) -> None:
    topic = topic_of(source)
    source.send(topic, [b"1", b"2"])
    mirror = Mirror(source, target, {**ONCE, "topics": topic})
    mirror.run()
    group = f"connect-{mirror.name}"
    kept = target.committed(group, f"A.{topic}")
    assert kept is not None
    assert kept.offset == 2
    told = source.committed(group, topic)  # for tools that show lag
    assert told is not None
    assert told.offset == 2
    source.commit(group, topic, 0)  # it is never read
    source.send(topic, [b"3"])
    mirror.run()
    assert target.values(f"A.{topic}") == [b"1", b"2", b"3"]


def test_positions_of_a_plain_sink_are_kept_on_the_source(source: Cluster, target: Cluster) -> None:
    topic = topic_of(source)
    source.send(topic, [b"1", b"2"])
    mirror = Mirror(source, target, {**SINK, "topics": topic})
    mirror.run()
    group = f"connect-{mirror.name}"
    kept = source.committed(group, topic)
    assert kept is not None
    assert kept.offset == 2
    assert target.committed(group, f"A.{topic}") is None
    source.commit(group, topic, 1)
    mirror.run()
    assert target.values(f"A.{topic}") == [b"1", b"2", b"2"]


@pytest.mark.parametrize("once", ["true", "false"])
def test_positions_of_a_source_are_as_mirror_maker_writes_them(source: Cluster, target: Cluster, once: str) -> None:
    topic = topic_of(source, 2)
    source.send(topic, [b"1", b"2"])
    mirror = Mirror(source, target, {"topics": topic}, {"exactly.once.source.enabled": once})
    assert mirror.once is (once == "true")
    mirror.run()
    mirror.run()
    rows: dict[bytes | None, Any] = {}
    for number in range(2):
        rows |= {
            row.key: orjson.loads(row.value or b"")
            for row in target.read(mirror.worker["offset.storage.topic"], number)
        }
    found = {
        tuple(orjson.loads(key or b"")[1].items()): value
        for key, value in rows.items()
        if b"engine.task" not in (key or b"")
    }
    assert found == {
        (("cluster", "A"), ("topic", topic), ("partition", 0)): {"offset": 1},
        (("cluster", "A"), ("topic", topic), ("partition", 1)): {"offset": -1},
    }
    source.send(topic, [b"3"], 1)
    mirror.run()
    assert (target.values(f"A.{topic}"), target.values(f"A.{topic}", 1)) == ([b"1", b"2"], [b"3"])


def test_the_target_may_be_another_cluster_than_the_workers(source: Cluster, target: Cluster) -> None:
    topic = topic_of(source)
    source.send(topic, [b"1"])
    away = {**ONCE, "topics": topic, "target.cluster.bootstrap.servers": target.servers}
    mirror = Mirror(source, target, away, home=source)
    assert [report.end for report in mirror.run()] == [LeaseEnd.CAUGHT_UP]
    assert target.values(f"A.{topic}") == [b"1"]
    assert target.committed(f"connect-{mirror.name}", f"A.{topic}") is not None


@pytest.mark.parametrize("kind", KINDS)
def test_a_record_that_the_target_rejects_becomes_a_dead_letter_and_no_other(
    source: Cluster, target: Cluster, kind: str
) -> None:
    topic = topic_of(source, max_message_bytes="2000000")
    target.create(f"A.{topic}", 1, {"max.message.bytes": "2000"})
    source.send(topic, [b"1", b"x" * 100_000, b"3"])
    letters = f"dlq-{topic}"
    mirror = Mirror(source, target, {
        **KINDS[kind], "topics": topic, "sync.topic.configs.enabled": "false", "errors.tolerance": "all",
        "producer.override.compression.type": "none",
        "errors.deadletterqueue.topic.name": letters, "errors.deadletterqueue.topic.partitions": "1",
    })  # fmt: skip
    reports = mirror.run()
    assert [report.end for report in reports] == [LeaseEnd.CAUGHT_UP], reports
    assert target.values(f"A.{topic}") == [b"1", b"3"]
    (letter,) = target.read(letters)
    context = orjson.loads(letter.value or b"")
    assert context["record"]["offset"] == 1
    assert [stage["type"] for stage in context["stages"]] == ["KAFKA_CONSUME", "KAFKA_PRODUCE"]
    assert context["record"]["source_partition"] == {"cluster": "A", "topic": topic, "partition": "0"}
    assert (context["index"], context["record"]["source_offset"]) == (1, {"offset": "1"})
    assert total(reports, "records-dead-lettered") == 1


def test_transforms_see_the_topic_as_it_is_called_on_the_target(source: Cluster, target: Cluster) -> None:
    topic = topic_of(source, 2)
    source.send(topic, [b"1"], 1)
    mirror = Mirror(source, target, {
        **ONCE, "topics": topic, "transforms": "r", "transforms.r.type": "RegexRouter",
        "transforms.r.regex": "A\\.(.*)", "transforms.r.replacement": "copy-of-$1",
    })  # fmt: skip
    mirror.run()
    assert target.values(f"copy-of-{topic}", 1) == [b"1"]


def test_a_position_that_is_gone_never_doubles_what_is_there(source: Cluster, target: Cluster) -> None:
    topic = topic_of(source)
    source.send(topic, [b"1", b"2"])
    Mirror(source, target, {**SINK, "topics": topic}).run()
    mirror = Mirror(source, target, {**ONCE, "topics": topic})
    (report,) = mirror.run()
    assert report.end is LeaseEnd.FAILED
    assert "mirror-offsets" in str(report.trace)
    assert target.values(f"A.{topic}") == [b"1", b"2"]


def test_a_mirror_of_another_type_goes_on_where_its_positions_are_copied_to(source: Cluster, target: Cluster) -> None:
    """KIP-656, migration: source, then sink, then transactions; each goes on where the one before ended."""
    topic = topic_of(source)
    source.send(topic, [b"1", b"2"])
    mirror = Mirror(source, target, {"topics": topic})
    mirror.run()
    for origin, props in (("offsets", SINK), ("group", ONCE)):
        source.send(topic, [origin.encode()])
        mirror.props |= props
        worker = parse_worker(mirror.worker)
        plan = validate(mirror.props, worker)
        tried = copy_offsets(plan, worker, origin, dry_run=True)
        copied = copy_offsets(plan, worker, origin)
        assert tried == copied
        assert [(row.before, row.found) for row in copied] == [(None, 2 if origin == "offsets" else 3)]
        assert [str(row) for row in copy_offsets(plan, worker, "earliest")] == [
            f"{topic}-0: unchanged at offset {copied[0].found}"
        ]
        assert [report.end for report in mirror.run()] == [LeaseEnd.CAUGHT_UP]
    assert target.values(f"A.{topic}") == [b"1", b"2", b"offsets", b"group"]


def test_positions_are_set_by_a_command(
    source: Cluster, target: Cluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    topic = topic_of(source)
    source.send(topic, [b"1", b"2", b"3"])
    mirror = Mirror(source, target, {**ONCE, "topics": topic})
    source.commit("before", topic, 1)
    files = {"connector": mirror.props, "worker": mirror.worker}
    for name, rows in files.items():
        (tmp_path / name).write_text("".join(f"{key}={value}\n" for key, value in rows.items()))
    command = ["mirror-offsets", f"{tmp_path}/connector", "--worker", f"{tmp_path}/worker", "--group", "before"]
    assert main([*command, "--dry-run"]) == 0
    assert f"A.{topic}" not in target.mirror_admin.topics()
    assert main(command) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"{topic}-0: offset 1",
        "1 of 1 offsets would be set",
        f"{topic}-0: offset 1",
        "1 of 1 offsets set",
    ]
    mirror.run()
    assert target.values(f"A.{topic}") == [b"2", b"3"]
