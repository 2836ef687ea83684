"""Handlers of KIP-1033 on sinks and sources, where they take the place of the tolerance policy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from engine.record.error_context_json import decode
from engine.worker_messages import LeaseEnd
from tests.broker.connector import Connector, file_sink
from tests.broker.processors import Keeping
from tests.broker.source import SourceConnector
from tests.broker.stream import Stream
from tests.broker.test_lease import balance
from tests.broker.test_stream import counting

KEEPING = "tests.broker.processors.Keeping"


def told(connector: Connector) -> list[tuple[Any, Any, Exception]]:
    return [row[1:] for row in Keeping.told if row[0] == connector.name]


def test_a_sinks_handlers_continue_where_its_tolerance_would_fail(broker: str, tmp_path: Path) -> None:
    options = {
        "deserialization.exception.handler": KEEPING,
        "processing.exception.handler": KEEPING,
        "transforms": "cast",
        "transforms.cast.type": "Cast$Value",
        "transforms.cast.spec": "n:int32",
    }
    connector = Connector(broker, {**file_sink(tmp_path / "out"), **options})
    letters = {"errors.dlq.topic.name": connector.dlq, "errors.dlq.topic.partitions": "1"}
    connector.props |= letters
    connector.configure(1)
    connector.send([b'{"n":"1"}', b"{", b'{"n":"x"}', b'{"n":"4"}'], headers=(("h", b"1"),))
    report = connector.run()
    assert (report.end, balance(report.metrics)) == (LeaseEnd.CAUGHT_UP, (4, 2, 2, 0, 0))
    assert report.metrics["dropped-records-total"] == 2
    assert {name for name, count in report.stage_dropped.items() if count} == {
        "1:VALUE_CONVERTER:JsonConverter",
        "3:TRANSFORMATION:Cast$Value",
    }
    reading, casting = told(connector)
    assert (reading[1].value, reading[0].headers, reading[0].offset) == (b"{", (("h", b"1"),), 1)
    assert (casting[1].value, casting[0].offset, casting[0].source_raw_value) == ({"n": "x"}, 2, b'{"n":"x"}')
    assert [context["handler"] for context in connector.contexts()] == [KEEPING, KEEPING]


@pytest.mark.parametrize(
    "handler", ["LogAndFailExceptionHandler", "org.apache.kafka.streams.errors.LogAndFailExceptionHandler"]
)
def test_a_sinks_handler_fails_where_its_tolerance_would_go_on(broker: str, tmp_path: Path, handler: str) -> None:
    options = {"errors.tolerance": "all", "deserialization.exception.handler": handler}
    connector = Connector(broker, {**file_sink(tmp_path / "out"), **options})
    connector.send([b"1", b"{", b"3"])
    report = connector.run()
    assert (report.end, report.positions) == (LeaseEnd.FAILED, {f"{connector.topic}-0": 1})
    assert f"deserialization.exception.handler {handler} returned FAIL" in str(report.trace)
    assert (tmp_path / "out").read_text().splitlines() == ["1"]


def test_the_dead_letter_of_a_punctuation_has_no_record(broker: str) -> None:
    stream = Stream(broker, {**counting("STREAM_TIME", 50, fails="true"), "processing.exception.handler": KEEPING})
    stream.props |= {"errors.dlq.topic.name": stream.dlq, "errors.dlq.topic.partitions": "1"}
    stream.props |= {"errors.dlq.include.messages": "true"}
    stream.configure(1)
    stream.send_at((1000, {"n": 1}))
    report = stream.run_until(lambda: stream.has_committed(1))
    assert balance(report.metrics) == (1, 1, 0, 0, 0)
    (letter,) = stream.letters()
    context = decode(letter.value).context
    assert context is not None
    assert (letter.key, letter.headers, context.record, context.original) == (None, (), None, None)
    assert context.message == "boom in a punctuation"


@pytest.mark.parametrize(("converter", "origin"), [("StringConverter", None), ("LongConverter", "VALUE")])
def test_a_sources_production_handler_decides_about_what_can_not_be_written(
    broker: str, tmp_path: Path, converter: str, origin: str | None
) -> None:
    lines = tmp_path / "lines"
    large = "".join(str(number * 7919) for number in range(2000))
    lines.write_text(f"one\n{large}\nthree\n")
    options = {
        "connector.class": "FileStreamSource",
        "file": str(lines),
        "value.converter": converter,
        "production.exception.handler": KEEPING,
    }
    connector = SourceConnector(broker, options)
    small = f"small-{connector.name}"
    connector.admin.create_topic(small, 1, 1, {"max.message.bytes": "2000"})
    connector.props["topic"] = small
    connector.configure(1)
    report = connector.run()
    seen = told(connector)
    if origin is None:
        assert [record.value for record in connector.out(small)] == [b"one", b"three"]
        [(context, record, error)] = seen
        assert (record.value, "MSG_SIZE_TOO_LARGE" in str(error)) == (large.encode(), True)
        assert (context.topic, context.partition, context.offset) == (small, -1, -1)
    else:
        assert [(record.value, part) for _, (record, part), _ in seen] == [
            ("one", origin),
            (large, origin),
            ("three", origin),
        ]
    assert report.metrics["dropped-records-total"] == len(seen)
    assert report.end is LeaseEnd.CAUGHT_UP
