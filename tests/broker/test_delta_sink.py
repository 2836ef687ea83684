"""DeltaSink against a real broker, a real S3 server, and a folder: each record is one row, whatever is killed."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol

import orjson
import pyarrow as pa
import pytest
from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake

from engine.worker_messages import LeaseEnd
from tests.broker.exactly import KILLS, ExactlyOnce, Feeder, await_stop, child_of, go_on
from tests.broker.exactly_classes import MARKER
from tests.broker.test_object_store_sink import EVENTS, forwarded
from tests.support.http_target import Reply, Seen, http_target
from tests.support.s3_server import KEYS, S3Server, s3_server

BAD = 10  # each tenth record is no JSON


class Target(Protocol):
    """A store of tables. `uri` and `storage` are those of a reader that is not ours."""

    def options(self) -> Mapping[str, str]: ...
    def uri(self, path: str) -> str: ...
    @property
    def storage(self) -> dict[str, str] | None: ...


class FolderTarget:
    """A folder on the disk."""

    storage = None

    def __init__(self, path: Path) -> None:
        self.path = path

    def options(self) -> Mapping[str, str]:
        return {"local.directory": str(self.path)}

    def uri(self, path: str) -> str:
        return str(self.path / path)


class BucketTarget:
    """A bucket."""

    def __init__(self, server: S3Server) -> None:
        self.options = server.options
        self._bucket = server.bucket
        self.storage = {
            "endpoint": server.url, "access_key_id": KEYS["aws.access.key.id"], "region": "us-east-1",
            "secret_access_key": KEYS["aws.secret.access.key"], "allow_http": "true", "conditional_put": "etag",
        }  # fmt: skip

    def uri(self, path: str) -> str:
        return f"s3://{self._bucket}/{path}"


@pytest.fixture(scope="module")
def server() -> Iterator[S3Server]:
    with s3_server() as started:
        yield started


@pytest.fixture(params=["bucket", "folder"])
def target(request: pytest.FixtureRequest, tmp_path: Path) -> Target:
    if request.param == "bucket":
        return BucketTarget(request.getfixturevalue("server"))
    (tmp_path / "tables").mkdir()
    return FolderTarget(tmp_path / "tables")


@pytest.fixture
def folder(tmp_path: Path) -> FolderTarget:
    (tmp_path / "tables").mkdir()
    return FolderTarget(tmp_path / "tables")


def connector_to(
    broker: str, target: Target, more: Mapping[str, str] | None = None, partitions: int = 1
) -> ExactlyOnce:
    options = {"connector.class": "DeltaSink", "auto.create": "true", **target.options(), **(more or {})}
    connector = ExactlyOnce(broker, options, partitions).with_dead_letters()
    connector.configure(1)
    return connector


def table_of(connector: ExactlyOnce, target: Target) -> DeltaTable:
    return DeltaTable(target.uri(connector.topic), storage_options=target.storage)


def rows(connector: ExactlyOnce, target: Target) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = pa.table(table_of(connector, target).to_pyarrow_table()).to_pylist()
    return found


def numbers(connector: ExactlyOnce, target: Target) -> list[int]:
    return sorted(row["n"] for row in rows(connector, target))


def version(connector: ExactlyOnce, target: Target) -> int:
    if not DeltaTable.is_deltatable(target.uri(connector.topic), target.storage):
        return -1
    return table_of(connector, target).version()


def value(partition: int, number: int) -> bytes:
    return b'{"p": %d, "n": %d}' % (partition, number) if number % BAD else b"{"


def test_real_records_become_rows_of_one_table(broker: str, target: Target) -> None:
    connector = connector_to(broker, target, {"flush.size": "100", "auto.evolve": "true"}, partitions=2)
    connector.send(EVENTS[:300])
    connector.send(EVENTS[300:500], partition=1)
    report = connector.run()
    assert report.end is LeaseEnd.CAUGHT_UP, report.trace
    assert connector.contexts() == []
    ids = sorted(row["id"] for row in rows(connector, target))
    assert ids == sorted(orjson.loads(event)["id"] for event in EVENTS[:500])
    table = table_of(connector, target)
    assert [table.transaction_version(f"{connector.name}/{connector.topic}-{one}") for one in (0, 1)] == [300, 200]


@pytest.mark.parametrize(("kills", "count"), KILLS)
def test_records_and_letters_are_there_once_whenever_it_is_killed(
    broker: str, target: Target, kills: int, count: int
) -> None:
    connector = connector_to(broker, target, {"rotate.interval.ms": "50"}, partitions=2)
    feeder = Feeder(connector, count, value)
    feeder.start()
    for number in range(kills):
        before = version(connector, target)
        with child_of(connector.lease(60_000)) as child:
            while version(connector, target) <= before and child.poll() is None:
                time.sleep(0.005)
            time.sleep(0.01 * number)
            child.kill()
    feeder.join()
    report = connector.run()
    assert report.end is LeaseEnd.CAUGHT_UP, report.trace
    found = sorted((row["p"], row["n"]) for row in rows(connector, target))
    assert found == [(partition, number) for partition in range(2) for number in range(count) if number % BAD]
    letters = [(one["original_record"]["partition"], one["original_record"]["offset"]) for one in connector.contexts()]
    assert sorted(letters) == [(partition, number) for partition in range(2) for number in range(0, count, BAD)]
    assert report.metrics["records-consumed"] == 2 * count


def test_a_crash_between_the_rows_and_the_offsets_doubles_nothing(broker: str, target: Target, tmp_path: Path) -> None:
    """The worker stops itself after it has appended rows. Another one has its partition when it wakes up."""
    connector = connector_to(broker, target)
    connector.props["connector.class"] = "StoppedAfterTable"
    connector.configure(1)
    connector.send([value(0, number) for number in range(5)])
    with child_of(connector.lease(60_000), **{MARKER: str(tmp_path / "stopped")}) as child:
        await_stop(child)
        assert numbers(connector, target) == [1, 2, 3, 4]
        assert [one and one.offset for one in connector.committed().values()] == [0]
        connector.props["connector.class"] = "DeltaSink"
        connector.move_to(2, [[0]])
        connector.send([value(0, number) for number in range(5, 12)])
        report = connector.run()
        assert report.end is LeaseEnd.CAUGHT_UP, report.trace
        go_on(child)
    assert numbers(connector, target) == [n for n in range(12) if n % BAD]
    assert [one["original_record"]["offset"] for one in connector.contexts()] == [0, 10]
    assert [one and one.offset for one in connector.committed().values()] == [12]


def test_a_task_that_wakes_up_late_loses_the_commit(broker: str, target: Target, tmp_path: Path) -> None:
    connector = connector_to(broker, target)
    connector.props["connector.class"] = "StoppedBeforeTable"
    connector.configure(1)
    connector.send([value(0, number) for number in range(1, 5)])
    with child_of(connector.lease(60_000), **{MARKER: str(tmp_path / "stopped")}) as child:
        await_stop(child)
        connector.props["connector.class"] = "DeltaSink"
        connector.move_to(2, [[0]])
        connector.send([value(0, number) for number in range(5, 8)])
        assert connector.run().end is LeaseEnd.CAUGHT_UP
        before = version(connector, target)
        go_on(child)
        assert version(connector, target) == before
    assert numbers(connector, target) == list(range(1, 8))


def test_a_busy_store_and_lost_answers_lose_and_double_nothing(broker: str, server: S3Server) -> None:
    """A server before the store refuses some writes, and loses the answers of others after they took effect."""
    chance = random.Random(7)
    lost: list[str] = []

    def answer(one: Seen) -> Reply:
        fate = chance.random() if one.method == "PUT" else 1.0
        if fate < 0.2:
            return Reply(503 if fate < 0.1 else 429)
        headers = {name: text for name, text in one.headers.items() if name not in {"Host", "Content-Length"}}
        found = forwarded(server, one, headers)
        if fate < 0.4:
            lost.append(one.path)
            return Reply(500)
        return found

    target = BucketTarget(server)
    with http_target(answer) as between:
        connector = connector_to(broker, target, {"flush.size": "200", "store.url": between.url})
        connector.send([value(0, number) for number in range(1000) if number % BAD])
        for _ in range(60):
            report = connector.run()
            if report.end is LeaseEnd.CAUGHT_UP:
                break
            assert report.end is LeaseEnd.PARKED, report.trace
            assert "the table" in str(report.trace)
        assert report.end is LeaseEnd.CAUGHT_UP
        assert numbers(connector, target) == [number for number in range(1000) if number % BAD]
        assert connector.letters() == []
        assert any(path.endswith(".json") for path in lost)


def test_records_that_do_not_fit_the_table_are_named(broker: str, folder: FolderTarget) -> None:
    """The table is somebody else's, with a column that must have a value."""
    connector = connector_to(broker, folder, {"auto.create": "false"})
    columns = pa.schema([pa.field("id", pa.int32(), nullable=False), ("at", pa.timestamp("us", "UTC"))])
    write_deltalake(folder.uri(connector.topic), pa.table({"id": [0], "at": [None]}, schema=columns))
    connector.send(
        [b'{"id": 1, "at": "2018-02-06T00:00:00Z"}', b'{"id": "2"}', b"{}", b'{"id": 3, "new": 1}', b'{"id": 4}']
    )
    report = connector.run()
    assert report.end is LeaseEnd.CAUGHT_UP, report.trace
    assert sorted(row["id"] for row in rows(connector, folder)) == [0, 1, 4]
    contexts = connector.contexts()
    assert [one["original_record"]["offset"] for one in contexts] == [1, 2, 3]
    assert contexts[0]["message"].startswith("the value does not fit the table: ")


def test_another_writer_changes_the_table_meanwhile(broker: str, folder: FolderTarget) -> None:
    """Rows and columns of others stay, and the sink goes on with the new columns."""
    connector = connector_to(broker, folder, {"auto.evolve": "true"})
    connector.send([b'{"n": 1}'])
    assert connector.run().end is LeaseEnd.CAUGHT_UP
    write_deltalake(
        folder.uri(connector.topic), pa.table({"n": [100], "who": ["me"]}), mode="append", schema_mode="merge"
    )
    connector.send([b'{"n": 2, "who": 5}', b'{"n": 3, "who": "x"}'])
    assert connector.run().end is LeaseEnd.CAUGHT_UP
    assert numbers(connector, folder) == [1, 3, 100]
    assert [one["original_record"]["offset"] for one in connector.contexts()] == [1]


def test_a_table_that_is_missing_or_checks_rows_itself_is_refused(broker: str, folder: FolderTarget) -> None:
    connector = connector_to(broker, folder, {"auto.create": "false"})
    connector.send([b'{"n": 1}'])
    report = connector.run()
    assert (report.end, "there is no table" in str(report.trace)) == (LeaseEnd.FAILED, True)
    table = DeltaTable.create(folder.uri(connector.topic), pa.schema([("n", pa.int64())]))
    table.alter.add_constraint({"positive": "n > 0"})
    report = connector.run()
    assert (report.end, "CHECK constraints" in str(report.trace)) == (LeaseEnd.FAILED, True)


def test_rows_of_a_topic_that_was_created_again_stop_the_task(broker: str, folder: FolderTarget) -> None:
    connector = connector_to(broker, folder)
    of_the_old_topic = CommitProperties(app_transactions=[Transaction(f"{connector.name}/{connector.topic}-0", 500)])
    write_deltalake(folder.uri(connector.topic), pa.table({"n": [0]}), commit_properties=of_the_old_topic)
    connector.send([b'{"n": 1}'])
    report = connector.run()
    assert report.end is LeaseEnd.FAILED
    assert "created again; choose another table.path" in str(report.trace)
    assert numbers(connector, folder) == [0]
