"""Log lines as text and as JSON, their levels, and the task that they belong to."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterator
from threading import Thread

import msgspec
import pytest

from engine.config.log_options import LogConfig, LogFormat
from engine.reporting.log_lines import LineHandler, configure, in_task, log_task_failure
from engine.spark.worker import run_encoded
from engine.worker_messages import Lease, TaskReport

USER = logging.getLogger("my_company.transforms")


@pytest.fixture(autouse=True)
def logging_as_before() -> Iterator[None]:
    root = logging.getLogger()
    level = root.level
    yield
    for handler in [one for one in root.handlers if isinstance(one, LineHandler)]:
        root.removeHandler(handler)
    root.setLevel(level)
    for name in ("my_company", "py4j"):
        logging.getLogger(name).setLevel(logging.NOTSET)


def test_a_line_has_time_level_logger_and_task(capsys: pytest.CaptureFixture[str]) -> None:
    configure(LogConfig())
    with in_task("orders", 3):
        USER.info("converted %d", 7)
    USER.warning("of no task")
    lines = capsys.readouterr().err.splitlines()
    assert [re.sub(r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} ", "TIME ", line) for line in lines] == [
        "TIME INFO my_company.transforms: [orders|task-3] converted 7",
        "TIME WARNING my_company.transforms: of no task",
    ]


def test_a_json_line_is_one_object_whatever_the_message_holds(capsys: pytest.CaptureFixture[str]) -> None:
    configure(LogConfig(format=LogFormat.JSON))
    with in_task("orders", 3):
        USER.info("two\nlines \u2028\x1b[31m")
    try:
        raise KeyError("k")
    except KeyError:
        USER.exception("failed")
    first, second = map(json.loads, capsys.readouterr().err.splitlines())
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", first.pop("time"))
    assert first == {
        "level": "INFO", "logger": "my_company.transforms", "connector": "orders", "task": 3,
        "message": "two\nlines \u2028\x1b[31m",
    }  # fmt: skip
    assert (second["message"], second["exception"].splitlines()[-1]) == ("failed", "KeyError: 'k'")
    assert "connector" not in second


def test_levels_are_by_logger_and_py4j_is_quiet(capsys: pytest.CaptureFixture[str]) -> None:
    configure(LogConfig(logging.ERROR, {"my_company": logging.DEBUG}))
    USER.debug("said")
    logging.getLogger("others").warning("not said")
    configure(LogConfig())
    logging.getLogger("py4j.clientserver").info("not said")
    assert [line.rpartition(": ")[2] for line in capsys.readouterr().err.splitlines()] == ["said"]


def test_a_second_configuration_doubles_no_line_and_keeps_others_handlers(capsys: pytest.CaptureFixture[str]) -> None:
    other = logging.NullHandler()
    logging.getLogger().addHandler(other)
    configure(LogConfig())
    configure(LogConfig())
    USER.info("once")
    assert len(capsys.readouterr().err.splitlines()) == 1
    assert other in logging.getLogger().handlers
    logging.getLogger().removeHandler(other)


def test_each_thread_has_its_own_task(capsys: pytest.CaptureFixture[str]) -> None:
    configure(LogConfig())

    def other() -> None:
        with in_task("b", 1):
            USER.info("other")

    with in_task("a", 0):
        thread = Thread(target=other)
        thread.start()
        thread.join()
        USER.info("this")
    lines = capsys.readouterr().err.splitlines()
    assert [line.partition("transforms: ")[2] for line in lines] == ["[b|task-1] other", "[a|task-0] this"]


def test_a_failure_is_an_error_of_its_task(capsys: pytest.CaptureFixture[str]) -> None:
    configure(LogConfig())
    log_task_failure("orders", 2, "Tolerance exceeded: …\n  at a.py:f:1")
    assert capsys.readouterr().err.partition(" ERROR ")[2] == (
        "engine.task_failures: [orders|task-2] task orders-2 failed: Tolerance exceeded: …\n  at a.py:f:1\n"
    )


def talking(lease: Lease) -> tuple[TaskReport, ...]:
    """A lease whose code logs."""
    USER.debug("from %s", lease.lease_id)
    return ()


def test_a_worker_process_logs_as_its_lease_says(capsys: pytest.CaptureFixture[str]) -> None:
    lease = Lease("l1", (), 1, 1000, {"log.level": "DEBUG", "log.format": "json"})
    run_encoded(f"{__name__}:talking", msgspec.msgpack.encode(lease))
    [line] = capsys.readouterr().err.splitlines()
    assert json.loads(line)["message"] == "from l1"
