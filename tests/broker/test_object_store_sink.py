"""ObjectStoreSink against a real broker, a real S3 server, and a folder: each record is in one object, once."""

from __future__ import annotations

import gzip
import io
import random
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol

import httpx
import orjson
import pyarrow.parquet as pq
import pytest

from engine.connectors.objects.stores import Folder
from engine.worker_messages import LeaseEnd
from tests.broker.exactly import KILLS, ExactlyOnce, Feeder, await_stop, child_of, go_on
from tests.broker.exactly_classes import MARKER
from tests.support.http_target import HttpTarget, Reply, Seen, http_target
from tests.support.s3_server import S3Server, s3_server

EVENTS = (Path(__file__).resolve().parents[2] / "demo" / "usgs-earthquakes-2018w06.jsonl").read_bytes().splitlines()
BAD = 10  # each tenth record is no JSON


class Target(Protocol):
    """A store of a test."""

    def options(self) -> Mapping[str, str]: ...
    def objects(self, folder: str) -> dict[str, bytes]: ...


class LocalFolder:
    """A folder on the disk."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir()

    def options(self) -> Mapping[str, str]:
        return {"local.directory": str(self.path)}

    def objects(self, folder: str) -> dict[str, bytes]:
        found = sorted(one for one in (self.path / folder).rglob("*") if one.is_file())
        return {str(one.relative_to(self.path)): one.read_bytes() for one in found}


@pytest.fixture(scope="module")
def bucket() -> Iterator[S3Server]:
    with s3_server() as server:
        yield server


@pytest.fixture(params=["bucket", "folder"])
def target(request: pytest.FixtureRequest, tmp_path: Path) -> Target:
    return request.getfixturevalue("bucket") if request.param == "bucket" else LocalFolder(tmp_path / "objects")


def connector_to(
    broker: str, target: Target, more: Mapping[str, str] | None = None, partitions: int = 1
) -> ExactlyOnce:
    options = {"connector.class": "ObjectStoreSink", **target.options(), **(more or {})}
    connector = ExactlyOnce(broker, options, partitions).with_dead_letters()
    connector.configure(1)
    return connector


def objects_of(connector: ExactlyOnce, target: Target, partition: int = 0) -> dict[str, bytes]:
    return target.objects(f"topics/{connector.topic}/partition={partition}")


def rows(objects: Mapping[str, bytes]) -> list[Any]:
    return [orjson.loads(line) for text in objects.values() for line in text.splitlines()]


def value(partition: int, number: int) -> bytes:
    return b'{"n": %d}' % number if number % BAD else b"{"


def test_objects_form_a_chain_and_hold_each_record_once(broker: str, target: Target) -> None:
    connector = connector_to(broker, target, {"flush.size": "100"})
    connector.send(EVENTS[:1500])
    assert connector.run().end is LeaseEnd.CAUGHT_UP
    connector.send(EVENTS[1500:1600])
    report = connector.run()
    assert report.end is LeaseEnd.CAUGHT_UP, report.trace
    objects = objects_of(connector, target)
    assert rows(objects) == [orjson.loads(event) for event in EVENTS[:1600]]
    starts = [int(name.rpartition("+")[2].removesuffix(".jsonl")) for name in objects]
    counts = [len(text.splitlines()) for text in objects.values()]
    assert len(starts) > 1
    assert starts == [sum(counts[:number]) for number in range(len(counts))]


@pytest.mark.parametrize(("kills", "count"), KILLS)
def test_records_and_letters_are_there_once_whenever_it_is_killed(
    broker: str, target: Target, kills: int, count: int
) -> None:
    connector = connector_to(broker, target, {"rotate.interval.ms": "50"}, partitions=2)
    feeder = Feeder(connector, count, value)
    feeder.start()
    for number in range(kills):
        before = len(objects_of(connector, target))
        with child_of(connector.lease(60_000)) as child:
            while len(objects_of(connector, target)) <= before and child.poll() is None:
                time.sleep(0.005)
            time.sleep(0.01 * number)
            child.kill()
    feeder.join()
    report = connector.run()
    assert report.end is LeaseEnd.CAUGHT_UP, report.trace
    for partition in range(2):
        found = [row["n"] for row in rows(objects_of(connector, target, partition))]
        assert found == [number for number in range(count) if number % BAD]
    letters = [(one["original_record"]["partition"], one["original_record"]["offset"]) for one in connector.contexts()]
    assert sorted(letters) == [(partition, number) for partition in range(2) for number in range(0, count, BAD)]
    assert report.metrics["records-consumed"] == 2 * count


def test_a_crash_between_the_object_and_the_offsets_doubles_nothing(
    broker: str, bucket: S3Server, tmp_path: Path
) -> None:
    """The worker stops itself after it has written an object. Another one has its partition when it wakes up."""
    connector = connector_to(broker, bucket)
    connector.props["connector.class"] = "StoppedAfterObject"
    connector.configure(1)
    connector.send([value(0, number) for number in range(5)])
    with child_of(connector.lease(60_000), **{MARKER: str(tmp_path / "stopped")}) as child:
        await_stop(child)
        assert [row["n"] for row in rows(objects_of(connector, bucket))] == [1, 2, 3, 4]
        assert [one and one.offset for one in connector.committed().values()] == [0]
        connector.props["connector.class"] = "ObjectStoreSink"
        connector.move_to(2, [[0]])
        connector.send([value(0, number) for number in range(5, 12)])
        report = connector.run()
        assert report.end is LeaseEnd.CAUGHT_UP, report.trace
        go_on(child)
    assert [row["n"] for row in rows(objects_of(connector, bucket))] == [n for n in range(12) if n % BAD]
    assert [one["original_record"]["offset"] for one in connector.contexts()] == [0, 10]
    assert [one and one.offset for one in connector.committed().values()] == [12]


def test_a_task_that_wakes_up_late_loses_the_create(broker: str, bucket: S3Server, tmp_path: Path) -> None:
    connector = connector_to(broker, bucket)
    connector.props["connector.class"] = "StoppedBeforeObject"
    connector.configure(1)
    connector.send([value(0, number) for number in range(1, 5)])
    with child_of(connector.lease(60_000), **{MARKER: str(tmp_path / "stopped")}) as child:
        await_stop(child)
        connector.props["connector.class"] = "ObjectStoreSink"
        connector.move_to(2, [[0]])
        connector.send([value(0, number) for number in range(5, 8)])
        assert connector.run().end is LeaseEnd.CAUGHT_UP
        before = objects_of(connector, bucket)
        go_on(child)
        assert objects_of(connector, bucket) == before
    assert [row["n"] for row in rows(before)] == list(range(1, 8))


def test_a_busy_store_and_lost_answers_lose_and_double_nothing(broker: str, bucket: S3Server) -> None:
    """A server before the store refuses some writes, and loses the answers of others after the object is there."""
    chance = random.Random(7)
    lost: list[str] = []

    def answer(one: Seen) -> Reply:
        fate = chance.random() if one.method == "PUT" else 1.0
        if fate < 0.2:
            return Reply(503 if fate < 0.1 else 429)
        headers = {name: text for name, text in one.headers.items() if name not in {"Host", "Content-Length"}}
        found = forwarded(bucket, one, headers)
        if fate < 0.4 and one.path.endswith(".jsonl"):
            lost.append(one.path)
            return Reply(500)
        return found

    with http_target(answer) as between:
        connector = connector_to(broker, bucket, {"flush.size": "200", "store.url": between.url})
        connector.send(EVENTS[:1000])
        for _ in range(30):
            report = connector.run()
            if report.end is LeaseEnd.CAUGHT_UP:
                break
            assert report.end is LeaseEnd.PARKED, report.trace
            assert "object store" in str(report.trace)
        assert report.end is LeaseEnd.CAUGHT_UP
        assert rows(objects_of(connector, bucket)) == [orjson.loads(event) for event in EVENTS[:1000]]
        assert connector.letters() == []
        assert lost


def forwarded(bucket: S3Server, one: Seen, headers: Mapping[str, str]) -> Reply:
    found = httpx.request(one.method, bucket.url + one.path, content=one.body, headers=dict(headers))
    kept = {name: text for name, text in found.headers.items() if name.startswith("x-amz") or name == "etag"}
    kept |= {"Last-Modified": found.headers.get("last-modified", "Thu, 01 Jan 2026 00:00:00 GMT")}
    return Reply(found.status_code, found.content, kept)


def test_a_table_of_parquet_and_the_records_that_do_not_fit_it(broker: str, bucket: S3Server) -> None:
    connector = connector_to(broker, bucket, {"format": "parquet", "compression.type": "zstd"})
    connector.send(
        [b'{"n": 1, "of": {}}', b'{"n": "one"}', b'{"n": 2.5, "of": {"a": 1}}', b"7", b'{"m": [true]}', *EVENTS[:50]]
    )
    report = connector.run()
    assert report.end is LeaseEnd.CAUGHT_UP, report.trace
    (data,) = objects_of(connector, bucket).values()
    table = pq.read_table(io.BytesIO(data)).to_pylist()
    assert [row["n"] for row in table[:3]] == [1, 2.5, None]
    assert (table[1]["of"], table[2]["m"]) == ({"a": 1}, [True])
    assert [row["properties"]["title"] for row in table[3:]] == [
        orjson.loads(event)["properties"]["title"] for event in EVENTS[:50]
    ]
    contexts = connector.contexts()
    assert [one["original_record"]["offset"] for one in contexts] == [1, 3]
    assert contexts[0]["message"].startswith("the value does not fit the table of the records before it: ")


def test_lines_may_be_compressed_and_records_without_a_value_left_out(broker: str, bucket: S3Server) -> None:
    more = {"compression.type": "gzip", "behavior.on.null.values": "ignore"}
    connector = connector_to(broker, bucket, more)
    connector.send([b'{"n": 1}', None, b'{"n": 2}'])
    assert connector.run().end is LeaseEnd.CAUGHT_UP
    ((name, data),) = objects_of(connector, bucket).items()
    assert name.endswith("+00000000000000000000.jsonl.gz")
    assert gzip.decompress(data) == b'{"n":1}\n{"n":2}\n'


def test_objects_of_a_topic_that_was_created_again_stop_the_task(broker: str, tmp_path: Path) -> None:
    target = LocalFolder(tmp_path / "objects")
    connector = connector_to(broker, target)
    folder = f"topics/{connector.topic}/partition=0"
    store = Folder(str(target.path), str(tmp_path))
    store.check(folder)
    assert store.create(f"{folder}/{connector.topic}+0+{0:020}.jsonl", b"{}\n", 500)
    connector.send([b"{}"])
    report = connector.run()
    assert report.end is LeaseEnd.FAILED
    assert "created again; choose another topics.dir" in str(report.trace)


def test_the_format_of_a_folder_does_not_change(broker: str, tmp_path: Path) -> None:
    """An earlier task that still writes the old format would choose other names."""
    connector = connector_to(broker, LocalFolder(tmp_path / "objects"))
    connector.send([b"{}"])
    assert connector.run().end is LeaseEnd.CAUGHT_UP
    connector.props["format"] = "parquet"
    connector.configure(2)
    report = connector.run()
    assert report.end is LeaseEnd.FAILED
    assert "choose another topics.dir" in str(report.trace)


def test_a_store_without_conditional_writes_is_refused(broker: str) -> None:
    with http_target(lambda one: Reply(200, headers={"ETag": '"1"'})) as careless:
        connector = connector_to(broker, Careless(careless))
        connector.send([b"{}"])
        report = connector.run()
        assert report.end is LeaseEnd.FAILED
        assert "ignores If-None-Match" in str(report.trace)


class Careless:
    """A store that accepts every write."""

    def __init__(self, server: HttpTarget) -> None:
        self.url = server.url

    def options(self) -> Mapping[str, str]:
        return {"s3.bucket.name": "any", "store.url": self.url}

    def objects(self, folder: str) -> dict[str, bytes]:
        raise NotImplementedError
