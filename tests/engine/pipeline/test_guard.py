"""What an error costs, and what it must not leave behind."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import orjson
import pytest

from engine.config.worker import StepConfig
from engine.errors import ConversionError
from engine.pipeline.error_views import read_whole
from engine.policy.retry import RetryPolicy
from engine.record.error_context_json import encode
from engine.record.record import Record
from engine.record.unread import Unread
from engine.steps.converters.json import JsonConverter
from engine.steps.registry import build_transform
from tests.engine.pipeline.rig import Rig, rows
from tests.engine.pipeline.stream_rig import Asked
from tests.fakes import raw


class Odd(Exception):
    pass


class Members:
    """A converter that leaves the members of an object unread."""

    def to_connect(self, topic: str, data: bytes | None, headers: Any) -> tuple[None, Any]:
        return None, msgspec.json.decode(data or b"null", type=dict[str, Unread])


class InTurn:
    """Transforms as one, which is as many as the rig has stages for."""

    def __init__(self, transforms: Sequence[Any]) -> None:
        self.transforms = transforms

    def apply(self, record: Any) -> Any:
        for transform in self.transforms:
            record = transform.apply(record)
        return record


@pytest.fixture
def _without_collector() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("_without_collector")
@pytest.mark.parametrize("limit", [0, 2])
def test_a_settled_error_leaves_nothing_to_the_garbage_collector(limit: int) -> None:
    """A worker collects seldom, and a circle of frames would keep the whole chunk until then."""
    seen: list[weakref.ref[Odd]] = []

    def fail(value: Any) -> Any:
        error = Odd("odd")
        seen.append(weakref.ref(error))
        raise error

    rig = Rig(rows(b"1", b"2", b"3"), transform=fail, retry=RetryPolicy(limit))
    rig.run()
    assert len(seen) == 3 * (limit + 1)
    assert [one() for one in seen] == [None] * len(seen)


@pytest.mark.usefixtures("_without_collector")
def test_a_refusal_with_its_cause_leaves_nothing_to_the_garbage_collector() -> None:
    converter = JsonConverter()
    converter.configure({"schemas.enable": "false"}, is_key=False)
    rig = Rig([raw(0, b'{"a'), raw(1, b'{"a":1}'), raw(2, b"[1")], value=converter)
    rig.run()
    assert len(rig.reporter.reports) == 2
    assert not [one for one in gc.get_objects() if isinstance(one, ConversionError)]


def test_the_frames_of_an_error_are_let_go_before_the_next_record() -> None:
    """They hold what was on the stack: a chunk of errors would keep that of each until it is settled."""
    seen: list[Odd] = []
    kept: list[bool] = []

    def fail(value: Any) -> Any:
        kept.extend(error.__traceback__ is not None for error in seen)
        seen.append(Odd("odd"))
        raise seen[-1]

    rig = Rig(rows(b"1", b"2", b"3"), transform=fail)
    rig.run()
    assert kept == [False] * 3
    assert [":fail:" in context.exception for context, _ in rig.reporter.reports] == [True] * 3


def test_a_handler_is_given_the_error_with_its_frames() -> None:
    class Looks(Asked):
        def handle(self, context: Any, record: Any, exception: Exception) -> Any:
            frames.append(exception.__traceback__)
            return super().handle(context, record, exception)

    frames: list[Any] = []

    def fail(value: Any) -> Any:
        raise Odd("odd")

    rig = Rig(rows(b"1", b"2"), transform=fail, handler=Looks())
    rig.run()
    assert len(frames) == 2
    assert None not in frames


def test_each_letter_has_the_frames_of_a_cause_that_a_step_keeps() -> None:
    kept: list[Exception] = []

    def connect() -> None:
        raise OSError("refused")

    def fail(value: Any) -> Any:
        if not kept:
            try:
                connect()
            except OSError as error:
                kept.append(error)
        raise Odd("no connection") from kept[0]

    texts = []
    for _ in range(3):  # chunks: in one of them, all errors are described before they are settled
        rig = Rig(rows(b"1"), transform=fail)
        rig.run()
        texts += [context.exception for context, _ in rig.reporter.reports]
    assert ":connect:" in texts[0]
    assert texts == [texts[0]] * 3


def test_a_context_holds_no_unread_parts() -> None:
    def fail(value: Any) -> Any:
        raise Odd("odd")

    rig = Rig([raw(0, b'{"a":[1,2],"b":{"c":3}}')], value=Members(), transform=fail)
    rig.run()
    assert rig.reporter.reports[0][0].record.value == {"a": [1, 2], "b": {"c": 3}}


@pytest.mark.parametrize(("operation", "left"), [("copy", '{"all":{"a":[1,2]}}'), ("move", "{}")])
def test_a_letter_tells_of_headers_that_were_made_of_unread_parts(operation: str, left: str) -> None:
    header_from = {"fields": "all", "headers": "h", "operation": operation}
    steps = [
        ("HoistField$Value", {"field": "all"}),
        ("HeaderFrom$Value", header_from),
        ("Cast$Value", {"spec": "int32"}),
    ]
    *first, cast = [build_transform(StepConfig("t", name, options)) for name, options in steps]
    rig = Rig([raw(0, b'{"a":[1,2]}')], value=Members(), transforms=[InTurn(first), cast])
    rig.run()
    ((context, _),) = rig.reporter.reports
    record = orjson.loads(encode(context, include_messages=True))["record"]
    assert record["value"] == {"schema": "STRUCT", "value": left}
    assert record["headers"] == [{"key": "h", "schema": "STRUCT", "value": '{"a":[1,2]}'}]


@pytest.mark.parametrize("value", [1, b"bytes"])
@pytest.mark.parametrize("key", [None, "text", b"bytes"])
def test_headers_are_read_whole(key: object, value: object) -> None:
    record = Record("t", 0, 0, key, value, headers=(("g", None, 1), ("h", None, {"a": Unread(b"[1]")})))
    assert read_whole(record).headers == (("g", None, 1), ("h", None, {"a": [1]}))
    whole = read_whole(record)
    assert read_whole(whole) is whole


@pytest.mark.parametrize("value", [1, b"bytes"])
def test_a_key_is_read_whole(value: object) -> None:
    assert read_whole(Record("t", 0, 0, {"a": Unread(b"[1]")}, value)).key == {"a": [1]}
