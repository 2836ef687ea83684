"""The page that shows how to write a stream, run as a reader would."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.config.properties import parse_properties
from engine.worker_messages import LeaseEnd
from tests.broker.stream import Stream
from tests.broker.test_lease import balance
from tests.support.pages import blocks_of

BLOCKS = blocks_of("write-a-processor.md")


def test_the_stream_of_the_page_does_what_the_page_says(
    broker: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "alarms.py").write_text(BLOCKS["python"])
    monkeypatch.syspath_prepend(str(tmp_path))
    own = parse_properties(BLOCKS["properties"])
    own = {name: value for name, value in own.items() if name not in {"name", "topics"}}
    own |= {"sinks.hot.topic": "$hot", "sinks.minutes.topic": "$minutes"}
    stream = Stream(broker, own, outputs=("hot", "minutes"))
    stream.props["errors.deadletterqueue.topic.name"] = stream.dlq
    stream.worker["plugin.classes.allow"] = "alarms.*"  # as the page says
    del stream.worker["file.connectors.root"]  # the page's module lies below it
    stream.configure(1)
    rows = [(60_000, 120), (70_000, 95), (119_000, 130), (120_000, 101), (200_000, 10)]
    stream.send_at(*[(time, {"temperature": degrees}) for time, degrees in rows], (200_001, {"heat": 1}))
    report = stream.run_until(lambda: stream.has_committed(6))
    assert [value["temperature"] for value in stream.values("hot")] == [120, 130, 101]
    assert [value["count"] for value in stream.values("minutes")] == [1, 2, 0]
    assert (report.end, balance(report.metrics)) == (LeaseEnd.STOPPED, (6, 5, 1, 0, 0))
    stream.send_at((200_002, {"temperature": "hot"}))
    report = stream.run_until(lambda: False)
    assert (report.end, "alarms.WithoutTemperature returned FAIL" in str(report.trace)) == (LeaseEnd.FAILED, True)
