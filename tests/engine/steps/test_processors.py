from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from engine.config.options import Option
from engine.config.worker import StepConfig
from engine.errors import ConfigError
from engine.steps.processors import build_processor, processor_problems
from engine.steps.schedules import PunctuationType, Schedules

HERE = "tests.engine.steps.test_processors"


class Plain:
    """A processor without options."""

    def process(self, record: Any) -> None: ...


class WithOptions:
    """A processor with a table of options."""

    OPTIONS = (Option("limit", "int", 1, "A limit."),)

    def configure(self, configs: Mapping[str, str]) -> None:
        self.configs = dict(configs)

    def process(self, record: Any) -> None: ...


class NoProcess:
    """No processor."""


class Unmakeable:
    """A processor that can't be created."""

    def __init__(self) -> None:
        raise ValueError("not today")

    def process(self, record: Any) -> None: ...


def step(name: str, **options: str) -> StepConfig:
    return StepConfig("n", name if "." in name else f"{HERE}.{name}", options, "processors.n.", allow=("tests.*",))


@pytest.mark.parametrize(
    ("configured", "option", "text"),
    [
        (step("NoProcess"), "processors.n.type", "must be a class with a process method"),
        (step("Unmakeable"), "processors.n.type", "can't be created: not today"),
        (step("Absent"), "processors.n.type", "can't be loaded"),
        (step("org.apache.kafka.Processor"), "processors.n.type", "is not a known class"),
        (step("Plain", limit="1"), "processors.n.limit", "unknown option"),
        (step("WithOptions", limits="1"), "processors.n.limits", "did you mean processors.n.limit?"),
        (step("WithOptions", limit="x"), "processors.n.limit", "must be a whole number"),
    ],
)
def test_a_processor_that_can_not_be_is_a_problem_of_its_option(configured: StepConfig, option: str, text: str) -> None:
    [(name, _, found)] = processor_problems([configured])
    assert name == option
    assert text in found


def test_a_processor_is_made_and_configured_with_its_own_options() -> None:
    assert processor_problems([step("Plain"), step("WithOptions", limit="2")]) == []
    assert build_processor(step("WithOptions", limit="2")).configs == {"limit": "2"}
    with pytest.raises(ConfigError):
        build_processor(step("Absent"))


@pytest.mark.parametrize(
    ("now", "due", "then"), [(0, True, 10), (9, True, 10), (10, True, 20), (35, True, 40), (-1, False, 0)]
)
def test_stream_time_is_due_from_zero_and_then_at_the_next_multiple(now: int, due: bool, then: int) -> None:
    schedules = Schedules()
    kind = PunctuationType.STREAM_TIME
    schedules.add("n", 10, kind, print, now_ms=123)
    assert (len(list(schedules.due(kind, now))), schedules.soonest[kind]) == (due, then)


def test_the_clock_counts_from_when_it_was_scheduled_and_makes_up_for_nothing() -> None:
    schedules, kind = Schedules(), PunctuationType.WALL_CLOCK_TIME
    schedules.add("n", 10, kind, print, now_ms=103)
    assert [len(list(schedules.due(kind, now))) for now in (112, 113, 122, 160, 162, 163)] == [0, 1, 0, 1, 0, 1]


def test_the_longest_waiting_goes_first_and_a_cancelled_one_never() -> None:
    schedules, kind = Schedules(), PunctuationType.WALL_CLOCK_TIME
    for name, interval in (("late", 30), ("early", 10), ("gone", 20)):
        made = schedules.add(name, interval, kind, print, now_ms=0)
    made.cancel()
    assert [one.node for one in schedules.due(kind, 100)] == ["early", "late"]
    assert schedules.soonest[kind] == 110
