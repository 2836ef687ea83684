"""The option `put.max.concurrency`: which connectors may have it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from engine.assembly.validation import validate
from engine.config.permissions import Permissions
from engine.config.worker import parse_worker
from engine.connectors.elasticsearch.sink import ElasticsearchSink
from engine.connectors.http.sink import HttpSink
from engine.errors import ConfigError
from engine.tasks.put_concurrency import declares_concurrent_puts

WORKER = {"bootstrap.servers": "127.0.0.1:9", "group.id": "g", "file.connectors.root": "/tmp"}
HTTP = {"connector.class": "HttpSink", "http.url": "http://127.0.0.1:1/"}


def plan(**options: str) -> Any:
    return validate({"name": "c", "topics": "t", **options}, parse_worker(WORKER))


def problems(**options: str) -> Sequence[tuple[str, str | None, str]]:
    with pytest.raises(ConfigError) as raised:
        plan(**options)
    return raised.value.problems


@pytest.mark.parametrize(
    "options", [HTTP, {"connector.class": "ElasticsearchSink", "connection.url": "http://127.0.0.1:1"}]
)
def test_sinks_that_declare_it_may_put_several_records_at_once(options: dict[str, str]) -> None:
    assert plan(**options).config.put_concurrency == 1
    assert plan(**options, **{"put.max.concurrency": "16"}).config.put_concurrency == 16


@pytest.mark.parametrize(
    ("name", "own"),
    [
        ("FileStreamSink", {"file": "/tmp/out"}),
        ("SqlSink", {"connection.url": "sqlite:////tmp/x.db", "table.name": "t", "delivery.guarantee": "exactly_once"}),
        ("KafkaSink", {"topic": "out"}),
        ("ObjectStoreSink", {"local.directory": "/tmp/out"}),
    ],
)
def test_other_sinks_are_refused_with_one_sentence(name: str, own: dict[str, str]) -> None:
    found = problems(**{"connector.class": name, "put.max.concurrency": "2", **own})
    text = f"must be 1, because {name} does not declare concurrent_puts: it puts one batch at a time"
    assert ("put.max.concurrency", "2", text) in found
    plan(**{"connector.class": name, "put.max.concurrency": "1", **own})


@pytest.mark.parametrize("count", ["0", "1001", "many"])
def test_a_number_out_of_range_is_refused(count: str) -> None:
    ((option, value, _),) = problems(**HTTP, **{"put.max.concurrency": count})
    assert (option, value) == ("put.max.concurrency", count)


def test_sources_and_streams_have_no_such_option() -> None:
    source = {"connector.class": "FileStreamSource", "file": "/tmp/in", "topic": "out"}
    with pytest.raises(ConfigError, match=r"put\.max\.concurrency"):
        validate({"name": "c", **source, "put.max.concurrency": "2"}, parse_worker(WORKER))


def test_a_derived_class_must_declare_it_itself() -> None:
    class Derived(HttpSink):
        def __init__(self) -> None:
            super().__init__(Permissions())

    assert declares_concurrent_puts(HttpSink)
    assert declares_concurrent_puts(ElasticsearchSink)
    assert not declares_concurrent_puts(Derived)
    assert not declares_concurrent_puts(object)
