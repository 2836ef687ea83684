"""A disk that is full: what was written stays whole, nothing is doubled, and the sentence names the disk."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from demo.broker import LocalBroker
from demo.postgres import FORGETFUL, LocalPostgres
from dlqadmin.host.redis_server import LocalRedis
from engine.connectors.file.sink import FileSink
from engine.errors import RetriableError
from engine.record.record import Record, TopicPartition
from engine.standalone import file_topic
from engine.standalone.file_topic import FileTopicReader, FileTopicWriter
from engine.worker_messages import LeaseEnd
from tests.broker.connector import Connector
from tests.broker.outages.busy_product import BusyProduct
from tests.broker.outages.test_services import end

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root mounts a small disk")

FULL = "No space left on device"
BALLAST = "ballast"


class SmallDisk:
    """A mounted tmpfs of so many bytes. `fill` leaves no free page, `relieve` frees what `fill` took."""

    def __init__(self, folder: Path, size: int) -> None:
        self.folder = folder
        folder.mkdir(exist_ok=True)
        command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)]
        subprocess.run(command, check=True, capture_output=True)

    def fill(self) -> None:
        with open(self.folder / BALLAST, "ab", buffering=0) as file, suppress(OSError):
            while file.write(bytes(4096)):
                pass

    def relieve(self) -> None:
        (self.folder / BALLAST).unlink()

    def close(self) -> None:
        subprocess.run(["umount", "--lazy", str(self.folder)], check=True, capture_output=True)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    made = SmallDisk(tmp_path / "disk", 1 << 20)
    yield made
    made.close()


@pytest.fixture
def large_disk() -> Iterator[SmallDisk]:
    """A disk outside of pytest's folders, which the user of PostgreSQL can't read."""
    folder = Path(tempfile.mkdtemp(prefix="disk-"))
    made = SmallDisk(folder, 400 << 20)
    yield made
    made.close()
    folder.rmdir()


def test_a_standalone_workers_offsets_stay_whole_and_the_next_commit_is_written(disk: SmallDisk) -> None:
    path = disk.folder / "offsets"
    file_topic.create(path)
    writer = FileTopicWriter(path, is_durable=True)

    def commit(number: int) -> None:
        writer.produce("", b"key %d" % number, b"x" * 100)
        writer.flush()

    disk.fill()
    refused = 0
    with suppress(RetriableError):
        while True:
            commit(refused)
            refused += 1
    with pytest.raises(RetriableError, match=FULL):
        commit(refused)
    disk.relieve()
    for number in range(refused, refused + 100):
        commit(number)
    reader = FileTopicReader(path)
    reader.assign({TopicPartition("offsets", 0): 0})
    assert [one.key for one in reader.poll(100_000, 0)] == [b"key %d" % number for number in range(refused + 100)]
    reader.close()


def test_a_file_sink_leaves_no_part_of_a_line_behind(disk: SmallDisk) -> None:
    sink = FileSink(str(disk.folder))
    sink.start({"file": str(disk.folder / "sink")})
    records = [Record("t", 0, None, None, f"{n} " + "x" * 3000) for n in range(3)]
    sink.put(records)
    disk.fill()
    with pytest.raises(RetriableError, match=FULL):
        sink.put(records)
    disk.relieve()
    sink.put(records)
    sink.stop()
    lines = (disk.folder / "sink").read_text().splitlines()
    assert [line.partition(" ")[0] for line in lines] == ["0", "1", "2"] * 2


def test_a_connectors_records_wait_for_room_and_none_is_blamed(disk: SmallDisk, broker: str) -> None:
    file = disk.folder / "sink"
    retries = {"errors.retry.limit": "-1", "errors.retry.delay.max.ms": "500"}
    connector = Connector(broker, {"connector.class": "FileStreamSink", "file": str(file), **retries})
    connector.with_dead_letters()
    connector.send([b'{"n":%d}' % n for n in range(2000)])
    disk.fill()
    report = connector.run(2000)
    assert report.end is LeaseEnd.PARKED, report.trace
    disk.relieve()
    while (report := connector.run()).end is LeaseEnd.PARKED:  # until the next retry is due
        time.sleep(0.1)
    assert report.end is LeaseEnd.CAUGHT_UP, report.trace
    assert file.read_text().splitlines() == [f'{{"n":{n}}}' for n in range(2000)]
    assert connector.dlq not in connector.admin.topics() or connector.letters() == []


@pytest.mark.soak  # it fills the disk of a whole product's database
def test_a_database_whose_disk_is_full(
    large_disk: SmallDisk, own_broker: LocalBroker, own_redis: LocalRedis, tmp_path: Path
) -> None:
    options = {**FORGETFUL, "max_wal_size": "64MB", "min_wal_size": "32MB"}
    postgres = LocalPostgres(large_disk.folder / "postgres", options).start()
    home = tmp_path / "home"
    home.mkdir()
    busy = BusyProduct(home, own_broker.bootstrap_servers, own_redis.url, postgres.url, replayed=4000)
    try:
        busy.start_all()
        large_disk.fill()
        busy.until_said("The disk of the database is full.")
        time.sleep(15)
        large_disk.relieve()
        busy.until_healthy()
        busy.settle()
    finally:
        busy.stop()
        end(postgres)
