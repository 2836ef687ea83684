"""A worker's logging options."""

from __future__ import annotations

import logging

import pytest

from engine.config.log_options import OPTIONS, LogConfig, LogFormat, read_log_config
from engine.config.worker import parse_worker
from engine.errors import ConfigError


def test_levels_have_the_names_of_log4j_in_any_case() -> None:
    worker = parse_worker({"log.level": "warn", "log.level.engine.kafka": "Debug", "log.level.my_steps.Noisy": "OFF"})
    assert worker.log == LogConfig(
        logging.WARNING, {"engine.kafka": logging.DEBUG, "my_steps.Noisy": logging.CRITICAL + 1}, LogFormat.TEXT
    )
    assert parse_worker({}).log == LogConfig()
    assert parse_worker({}, {"CONNECT_LOG_FORMAT": "json"}).log.format is LogFormat.JSON


@pytest.mark.parametrize("option", ["log.level", "log.level.engine.kafka"])
def test_a_level_that_does_not_exist_is_refused_with_the_nearest(option: str) -> None:
    with pytest.raises(ConfigError) as refused:
        parse_worker({option: "DEBGU"})
    [(name, value, message)] = refused.value.problems
    assert (name, value) == (option, "DEBGU")
    assert message == "must be one of TRACE, DEBUG, INFO, WARN, ERROR, FATAL, OFF; did you mean DEBUG?"


def test_a_format_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ConfigError, match="must be one of text, json"):
        parse_worker({"log.format": "xml"})


def test_leases_get_the_options_of_their_driver() -> None:
    worker = parse_worker({"log.level": "ERROR", "log.format": "json", "log.level.a": "INFO"})
    assert read_log_config(worker.lease_properties) == worker.log


def test_the_page_of_options_tells_the_levels_of_one_logger() -> None:
    valid = {option.name: option.valid_values for option in OPTIONS}
    assert valid["log.level.*"] == valid["log.level"] == "TRACE, DEBUG, INFO, WARN, ERROR, FATAL, OFF (in any case)"
