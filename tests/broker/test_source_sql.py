from __future__ import annotations

import sqlite3
from pathlib import Path

import orjson

from engine.record.record import TopicPartition
from engine.worker_messages import LeaseEnd
from tests.broker.source import SourceConnector


def connector(broker: str, path: Path, **more: str) -> SourceConnector:
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, name TEXT, price NUMERIC(8, 2), day DATE)")
    database.close()
    url = f"sqlite:///{path}"
    made = SourceConnector(broker, {"connector.class": "SqlSource", "connection.url": url, "tables": "orders"})
    made.props |= {"topic.prefix": f"{made.topic}-", "value.converter": "JsonConverter"}
    made.props |= {"value.converter.schemas.enable": "true", **more}
    made.admin.create_topic(f"{made.topic}-orders", 1, 1)
    made.configure(1)
    return made


def add(path: Path, *rows: tuple[object, ...]) -> None:
    with sqlite3.connect(path) as database:
        database.executemany("INSERT INTO orders (name, price, day) VALUES (?, ?, ?)", rows)
    database.close()


def test_rows_arrive_with_their_schema_and_new_ones_later(broker: str, tmp_path: Path) -> None:
    path = tmp_path / "shop.db"
    source = connector(broker, path)
    add(path, *((f"item {number}", 1.25, "2024-02-29") for number in range(250)))
    report = source.run()
    assert (report.end, report.trace, report.metrics["records-delivered"]) == (LeaseEnd.CAUGHT_UP, None, 250)
    rows = [orjson.loads(record.value or b"null") for record in source.out(f"{source.topic}-orders")]
    assert [row["payload"]["id"] for row in rows] == list(range(1, 251))
    assert rows[0]["payload"] == {"id": 1, "name": "item 0", "price": "fQ==", "day": 19782}
    assert rows[0]["schema"]["name"] == "orders"
    add(path, ("late", 2, "2024-03-01"))
    assert source.run().metrics["records-consumed"] == 251
    assert source.offsets() == {f'["{source.name}",{{"table":"orders"}}]': {"incrementing": 251}}


def test_a_row_that_does_not_fit_its_table_is_a_dead_letter_with_its_place(broker: str, tmp_path: Path) -> None:
    path = tmp_path / "shop.db"
    source = connector(broker, path).with_dead_letters(**{"errors.deadletterqueue.include.configs": "true"})
    source.configure(1)
    add(path, ("good", 1, "2024-02-29"), ("bad", 1, "someday"), ("good", 2, "2024-02-29"))
    report = source.run()
    assert (report.end, report.metrics["records-dead-lettered"]) == (LeaseEnd.CAUGHT_UP, 1)
    assert len(source.read(TopicPartition(f"{source.topic}-orders", 0))) == 2
    [context] = source.contexts()
    assert context["stages"][context["index"]]["type"] == "VALUE_CONVERTER"
    assert context["record"]["source_partition"] == {"table": "orders"}
    assert context["record"]["source_offset"] == {"incrementing": "2"}
    assert orjson.loads(context["record"]["value"]["value"])["day"] == "someday"
    assert "day" in context["message"] or "someday" in context["message"]
    assert context["stages"][0]["config"]["tables"] == "orders"
    assert "sqlite" not in str(context["stages"])  # where the database is is a secret


def test_a_database_without_the_table_fails_the_task_and_says_so(broker: str, tmp_path: Path) -> None:
    source = connector(broker, tmp_path / "shop.db", tables="nothing")
    report = source.run()
    assert report.end is LeaseEnd.FAILED
    assert "is not a table of the database" in (report.trace or "")
    assert "sqlite:///" not in (report.trace or "")


def test_topics_that_are_not_there_are_made_as_the_connector_says(broker: str, tmp_path: Path) -> None:
    path = tmp_path / "shop.db"
    source = connector(
        broker,
        path,
        **{
            "topic.creation.default.partitions": "2",
            "topic.creation.default.replication.factor": "3",
            "topic.creation.default.max.message.bytes": "12345",
            "topic.prefix": "made-",
        },
    )
    source.props["topic.prefix"] = f"made-{source.name}-"
    source.configure(2)
    add(path, ("tea", 1, "2024-02-29"))
    report = source.run()
    assert (report.end, report.metrics["records-delivered"]) == (LeaseEnd.CAUGHT_UP, 1)
    topic = f"made-{source.name}-orders"
    assert source.admin.partitions(topic) == 2
    assert source.admin.max_message_bytes(topic) == 12345
