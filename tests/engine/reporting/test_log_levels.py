"""Levels of loggers, as KIP-495 tells and sets them."""

from __future__ import annotations

import logging

import pytest

from engine.reporting.log_levels import LogLevels, is_level

PARENT = "tests.log_levels"


@pytest.fixture
def levels() -> LogLevels:
    for name in (PARENT, f"{PARENT}.child", f"{PARENT}_other"):
        logging.getLogger(name).setLevel(logging.INFO)
    return LogLevels(lambda: 7)


def test_a_level_is_set_for_a_logger_and_those_below_it(levels: LogLevels) -> None:
    assert levels.set(PARENT, "warn") == [PARENT, f"{PARENT}.child"]
    assert levels.get(f"{PARENT}.child") == {"level": "WARN", "last_modified": 7}
    assert levels.get(f"{PARENT}_other") == {"level": "INFO", "last_modified": None}
    assert levels.set(PARENT, "WARN") == []


def test_an_unknown_logger_has_no_level_until_one_is_set(levels: LogLevels) -> None:
    name = f"{PARENT}.new{id(levels)}"
    assert levels.get(name) is None
    assert levels.set(name, "TRACE") == [name]
    assert levels.all()[name] == {"level": "TRACE", "last_modified": 7}


def test_loggers_without_a_level_are_not_listed_and_inherit_theirs(levels: LogLevels) -> None:
    logging.getLogger(f"{PARENT}.child.quiet")
    levels.set(f"{PARENT}.child", "ERROR")
    logging.getLogger(f"{PARENT}.child.later")
    assert f"{PARENT}.child.later" not in levels.all()
    assert levels.get(f"{PARENT}.child.later") == {"level": "ERROR", "last_modified": None}


@pytest.mark.parametrize(("text", "known"), [("debug", True), ("OFF", True), ("LOUD", False), ("", False)])
def test_levels_have_log4js_names(text: str, known: bool) -> None:
    assert is_level(text) is known


@pytest.mark.parametrize(("name", "level"), [("psycopg.pool", "FATAL"), ("sqlalchemy.engine", "WARN")])
def test_loggers_that_would_log_the_content_of_records_stay_quiet(levels: LogLevels, name: str, level: str) -> None:
    logger = logging.getLogger(name)
    before = logger.level
    try:
        levels.set(name, "TRACE")
        assert (levels.get(name) or {})["level"] == level
    finally:
        logger.setLevel(before)
