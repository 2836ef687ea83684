"""What a lease tells of records that were written back, by an engine on a real broker."""

from __future__ import annotations

from pathlib import Path
from uuid import uuid4

import confluent_kafka as ck
import pytest

from demo.broker import LocalBroker
from engine.errors import ProduceFailed
from engine.kafka.admin import KafkaAdmin
from engine.kafka.client_options import QUICK, admin_settings, producer_settings
from engine.kafka.producer import KafkaProducer
from engine.record.record import Headers
from engine.record.replay import ATTEMPT, ID, ITEM
from engine.worker_messages import LeaseEnd
from tests.broker.connector import Connector, file_sink
from tests.broker.test_clients import ended
from tests.broker.test_lease import balance, run_in_child


def stamped(ordinal: int) -> Headers:
    return (("mine", b"1"), (ID, b"r"), (ITEM, b"r/%d" % ordinal), (ATTEMPT, b"1"))


def leaving_out_nulls(connector: Connector) -> Connector:
    connector.props |= {"transforms": "nulls", "transforms.nulls.type": "tests.broker.steps.LeaveOutNulls"}
    connector.configure(1)
    return connector


def told(connector: Connector) -> list[tuple[str, int, str]]:
    return [(line["item"], line["offset"], line["outcome"]) for line in connector.outcomes()]


def test_replayed_records_are_reported_delivered_filtered_and_dead_lettered(broker: str, tmp_path: Path) -> None:
    connector = leaving_out_nulls(Connector(broker, file_sink(tmp_path / "out")).with_dead_letters())
    connector.send([b"0"], headers=(("mine", b"1"),))
    for ordinal, value in enumerate((b"1", None, b"{")):
        connector.send([value], headers=stamped(ordinal))
    report = connector.run()
    assert (report.end, balance(report.metrics)) == (LeaseEnd.CAUGHT_UP, (4, 2, 1, 0, 1))
    assert told(connector) == [("r/0", 1, "delivered"), ("r/1", 2, "filtered"), ("r/2", 3, "dead_lettered")]
    line = connector.outcomes()[0]
    assert (line["connector"], line["topic"], line["partition"]) == (connector.name, connector.topic, 0)
    (letter,) = connector.letters()
    assert letter.headers == stamped(2)


def test_a_tolerated_error_without_a_dead_letter_topic_is_reported_as_skipped(broker: str, tmp_path: Path) -> None:
    connector = Connector(broker, {**file_sink(tmp_path / "out"), "errors.tolerance": "all"})
    connector.send([b"{"], headers=stamped(0))
    connector.run()
    assert told(connector) == [("r/0", 0, "skipped")]


def test_a_record_that_stops_the_task_is_reported_once_it_is_passed(broker: str, tmp_path: Path) -> None:
    connector = Connector(broker, file_sink(tmp_path / "out"))
    connector.send([b"1", b"{"], headers=stamped(0))
    assert connector.run().end is LeaseEnd.FAILED
    assert told(connector) == [("r/0", 0, "delivered")]
    connector.with_dead_letters().configure(2)
    connector.restart()
    connector.run()
    assert told(connector) == [("r/0", 0, "delivered"), ("r/0", 1, "dead_lettered")]


def test_traffic_that_nobody_replayed_makes_no_outcome_topic(broker: str, tmp_path: Path) -> None:
    connector = Connector(broker, file_sink(tmp_path / "out"))
    connector.send([b"1"], headers=(("mine", b"1"),))
    connector.run()
    assert connector.admin.partitions(connector.outcome_topic) is None


def test_a_replay_that_was_aborted_is_neither_delivered_nor_reported(broker: str, tmp_path: Path) -> None:
    connector = Connector(broker, file_sink(tmp_path / "out"))
    client = ck.Producer({"bootstrap.servers": broker, "transactional.id": connector.topic})
    client.init_transactions()
    for ordinal, end in enumerate((client.abort_transaction, client.commit_transaction, client.abort_transaction)):
        client.begin_transaction()
        client.produce(connector.topic, b"%d" % ordinal, headers=list(stamped(ordinal)))
        client.flush()
        end()
    partition = connector.partitions[0]
    ended(connector.admin, partition, 6)
    report = connector.run()
    assert (report.end, balance(report.metrics)) == (LeaseEnd.CAUGHT_UP, (1, 1, 0, 0, 0))
    assert told(connector) == [("r/1", 2, "delivered")]
    assert connector.committed()[partition].offset == 6  # type: ignore[union-attr]  # it is committed
    assert connector.admin.end_offsets([partition]) == {partition: 6}


def test_a_crash_before_the_commit_loses_no_report(broker: str, tmp_path: Path) -> None:
    connector = Connector(broker, file_sink(tmp_path / "out"))
    connector.props |= {"connector.class": "tests.broker.steps.DyingSink", "marker": str(tmp_path / "died")}
    connector.configure(1)
    connector.send([b"1"], headers=stamped(0))
    run_in_child(connector.lease())
    assert connector.admin.partitions(connector.outcome_topic) is None
    connector.run()
    assert told(connector) == [("r/0", 0, "delivered")]


def test_a_topic_that_refuses_reports_fails_the_task_before_it_commits(broker: str, tmp_path: Path) -> None:
    connector = Connector(broker, file_sink(tmp_path / "out"))
    connector.admin.create_topic(connector.outcome_topic, 1, 1, {"max.message.bytes": "100"})
    connector.send([b"1"], headers=stamped(0))
    report = connector.run()
    assert (report.end, connector.outcome_topic in str(report.trace)) == (LeaseEnd.FAILED, True)
    assert connector.committed()[connector.partitions[0]].offset == 0  # type: ignore[union-attr]  # it is committed


def test_a_flush_tells_brokers_that_are_away_from_records_that_are_refused(own_broker: LocalBroker) -> None:
    client = {"bootstrap.servers": own_broker.bootstrap_servers}
    topic = f"t-{uuid4().hex}"
    KafkaAdmin(admin_settings(client)).create_topic(topic, 1, 1)
    producer = KafkaProducer(producer_settings(client, QUICK, {"message.max.bytes": "2000"}))
    # Only this client gives up early: a live broker may need longer than that on a busy machine.
    hasty = {"delivery.timeout.ms": "1500", "request.timeout.ms": "1000"}
    impatient_producer = KafkaProducer(producer_settings(client, QUICK, hasty))
    producer.produce(topic, None, b"x" * 5000)
    with pytest.raises(ProduceFailed) as refused:
        producer.flush()
    producer.produce(topic, None, b"x")
    producer.flush()
    own_broker.kill()
    impatient_producer.produce(topic, None, b"x")
    with pytest.raises(ProduceFailed) as away:
        impatient_producer.flush()
    producer.close()
    impatient_producer.close()
    assert (refused.value.retriable, away.value.retriable) == (False, True)
