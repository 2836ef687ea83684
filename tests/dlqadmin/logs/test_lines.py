"""Log lines of the dashboard as text and as JSON: their ids, and that nothing logged begins a line of its own."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Iterator
from threading import Thread

import pytest

from dlqadmin.logs import context
from dlqadmin.logs.lines import IdentifiedTextLines, json_lines

Format = Callable[[logging.LogRecord], str]
FORGED = "done\n2026-11-24 10:00:00,123 ERROR web a: forged\r\x1b[2K\x85\u2028\u202e"


def record(message: str, error: BaseException | None = None) -> logging.LogRecord:
    found = (type(error), error, error.__traceback__) if error else None
    return logging.LogRecord("my.module", logging.INFO, __file__, 1, message, None, found)


def failure(text: str) -> ValueError:
    try:
        raise ValueError(text)
    except ValueError as error:
        return error


@pytest.fixture(autouse=True)
def command() -> Iterator[None]:
    """This process is a command. Another test may have made it a web server."""
    before = context.process()
    context.set_process(context.COMMAND)
    yield
    context.set_process(before)


def test_a_text_line_has_process_and_ids() -> None:
    with context.bound(request_id="r-1", user_id=lambda: 3, connector=None):
        line = IdentifiedTextLines().format(record("sent"))
    assert re.fullmatch(r"\S+ \S+ INFO command my\.module: \[request_id=r-1 user_id=3\] sent", line)
    assert IdentifiedTextLines().format(record("sent")).endswith(" my.module: sent")


def test_a_json_line_has_process_and_ids() -> None:
    with context.bound(request_id="r-1", user_id=lambda: 3, connector=None):
        line = json.loads(json_lines().format(record("sent")))
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", line.pop("time"))
    assert line == {
        "level": "INFO", "logger": "my.module", "process": "command", "request_id": "r-1", "user_id": 3,
        "message": "sent",
    }  # fmt: skip


@pytest.mark.parametrize("formatter", [IdentifiedTextLines(), json_lines()], ids=["text", "json"])
def test_a_message_is_one_line_whatever_it_holds(formatter: logging.Formatter) -> None:
    with context.bound(connector=FORGED):
        line = formatter.format(record(FORGED))
    assert len(line.splitlines()) == 1
    assert not re.search("[\x00-\x1f\x7f-\x9f\u2028\u202e]", line)
    assert (
        "done\\n2026-11-24 10:00:00,123 ERROR web a: forged\\r\\x1b[2K".replace(
            "\\x1b", "\\u001b" if isinstance(formatter, type(json_lines())) else "\\x1b"
        )
        in line
    )


def test_no_line_of_a_trace_begins_like_a_line_of_the_log() -> None:
    head, *trace = IdentifiedTextLines().format(record("failed", failure(FORGED))).split("\n")
    assert head.endswith("failed")
    assert trace[0] == "  Traceback (most recent call last):"
    assert [line for line in trace if not line.startswith("  ")] == []
    assert "  2026-11-24 10:00:00,123 ERROR web a: forged\\r\\x1b[2K\\x85\\u2028\\u202e" in trace
    assert json.loads(json_lines().format(record("failed", failure(FORGED))))["exception"].endswith(FORGED)


def test_ids_end_with_their_block_and_belong_to_their_thread() -> None:
    seen: list[object] = []
    with context.bound(request_id="outer"):
        with context.bound(request_id="inner", cluster="eu"):
            assert context.ids() == {"request_id": "inner", "cluster": "eu"}
        assert context.ids() == {"request_id": "outer"}
        thread = Thread(target=lambda: seen.append(context.ids()))
        thread.start()
        thread.join()
    assert (seen, context.ids()) == ([{}], {})


@pytest.mark.parametrize("given", ["4f1c-9:a_b.c", "a" * 64])
def test_a_short_token_is_kept(given: str) -> None:
    assert context.given_or_new_id(given) == given


@pytest.mark.parametrize("given", [None, "", "a" * 65, "a b", "a\n", "a\nb", "é", "[x]", 7])
def test_anything_else_is_replaced(given: object) -> None:
    assert re.fullmatch("[0-9a-f]{32}", context.given_or_new_id(given))
