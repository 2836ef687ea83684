"""The page that shows how to write a sink, installed and run as a reader would."""

from __future__ import annotations

import sys
from pathlib import Path

import orjson
import pytest

from engine import errors
from engine.config.properties import parse_properties
from engine.worker_messages import LeaseEnd
from tests.broker.connector import Connector
from tests.support.http_target import Reply, Seen, http_target
from tests.support.pages import HOW_TO, blocks_of, install

BLOCKS = blocks_of("write-a-sink.md")


def test_the_sink_of_the_page_does_what_the_page_says(
    broker: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(BLOCKS, tmp_path, "alerts")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "alerts", raising=False)
    busy = iter([Reply(503), Reply(429)])

    def answer(one: Seen) -> Reply:
        number = orjson.loads(one.body)["n"]
        if number == 2:
            return Reply(422, b"two is not allowed")
        return next(busy, Reply()) if number == 3 else Reply()

    with http_target(answer) as target:
        own = {**parse_properties(BLOCKS["properties"]), "alert.url": target.url}
        connector = Connector(
            broker, {name: value for name, value in own.items() if name not in {"name", "topics"}}
        ).with_dead_letters()
        del connector.worker["file.connectors.root"]  # the page's module lies below it
        connector.configure(1)
        connector.send(b'{"n": %d}' % number for number in range(5))
        report = connector.run()
        assert report.end is LeaseEnd.CAUGHT_UP, report.trace
        assert [orjson.loads(body)["n"] for body in target.bodies()] == [0, 1, 3, 4]
        (context,) = connector.contexts()
        assert (context["original_record"]["offset"], context["message"]) == (2, "HTTP 422: two is not allowed")


def test_every_exception_of_the_page_exists() -> None:
    rows = [line for line in (HOW_TO / "write-a-sink.md").read_text().splitlines() if line.startswith("| `")]
    names = [row.split("`")[1].partition("(")[0] for row in rows]
    assert names == ["PartialPut", "RetriableError", "Throttling", "RecordError", "ConfigError"]
    assert all(issubclass(getattr(errors, name), errors.EngineError) for name in names)
