"""A KafkaSink whose processes are killed, or stopped and woken when somebody else has its work: all is there once."""

from __future__ import annotations

import random
import time
from pathlib import Path

import orjson
import pytest

from engine.record.record import TopicPartition
from engine.worker_messages import LeaseEnd
from tests.broker.exactly import KILLS, REPLAYED, Feeder, await_stop, child_of, go_on, read_committed
from tests.broker.exactly_classes import MARKER
from tests.broker.test_topic_sink import ToTopic

BAD = 10  # each tenth of them is no JSON
LARGE = 77  # and this one is too large for the topic


def value(partition: int, number: int) -> bytes:
    if number == LARGE:
        return b'"' + b"x" * 1_200_000 + b'"'
    return b"{" if number % BAD == 0 else b"%d" % number


def is_good(number: int) -> bool:
    return number % BAD != 0 and number != LARGE


def written(connector: ToTopic, partition: int) -> list[int]:
    records = read_committed(connector.broker, TopicPartition(connector.out, partition))
    return [orjson.loads(record.value or b"null") for record in records]


@pytest.mark.parametrize(("kills", "count"), KILLS)
def test_records_letters_and_outcomes_are_there_once_and_in_order_whenever_it_is_killed(
    broker: str, kills: int, count: int
) -> None:
    connector = ToTopic(broker, 2, partition_keep="true").with_dead_letters()
    connector.props |= {
        "producer.override.max.request.size": "20000000",
        "producer.override.compression.type": "none",
    }
    connector.configure(1)
    feeder = Feeder(connector, count, value)
    feeder.start()
    chance = random.Random(2)
    for _ in range(kills):
        before = written(connector, 0)
        with child_of(connector.lease(60_000)) as child:
            while len(written(connector, 0)) == len(before) and child.poll() is None:
                time.sleep(0.01)
            time.sleep(chance.random() * 0.3)
    feeder.join()
    report = connector.run(60_000)
    assert report.end is LeaseEnd.CAUGHT_UP, report.trace
    good = [number for number in range(count) if is_good(number)]
    assert [written(connector, partition) for partition in range(2)] == [good, good]
    bad = [number for number in range(count) if not is_good(number)]
    letters = [(one["record"]["partition"], one["record"]["offset"]) for one in connector.contexts()]
    for partition in range(2):
        assert [offset for of, offset in letters if of == partition] == bad
    told = sorted((line["partition"], line["offset"]) for line in connector.outcomes())
    assert told == [(partition, number) for partition in range(2) for number in range(0, count, REPLAYED)]
    assert [one and one.offset for one in connector.committed().values()] == [count, count]
    assert report.metrics["records-consumed"] == 2 * count


def test_who_is_stopped_in_the_middle_and_wakes_when_its_partitions_have_moved_writes_nothing(
    broker: str, tmp_path: Path
) -> None:
    connector = ToTopic(broker, 2, partition_keep="true").with_dead_letters()
    connector.worker["offset.flush.interval.ms"] = "60000"  # what was put is not committed when it stops
    connector.props |= {
        "transforms": "stop",
        "transforms.stop.type": "tests.broker.exactly_classes.StopAt",
        "transforms.stop.at": "2501",
    }
    connector.configure(1)
    numbers = [number for number in range(3000) if number % BAD]
    for partition in range(2):
        connector.send((value(partition, number) for number in range(3000) if number != LARGE), partition=partition)
    with child_of(connector.lease(60_000), **{MARKER: str(tmp_path / "stopped")}) as child:
        await_stop(child)
        assert written(connector, 0) == written(connector, 1) == []
        connector.move_to(2, [[1], [0]])
        reports = connector.run_all()
        assert {report.end for report in reports} == {LeaseEnd.CAUGHT_UP}, [report.trace for report in reports]
        for waking in (False, True):
            if waking:
                go_on(child)
            assert written(connector, 0) == written(connector, 1) == [number for number in numbers if number != LARGE]
            assert len(connector.letters()) == 600
            assert [one and one.offset for one in connector.committed().values()] == [2999, 2999]
