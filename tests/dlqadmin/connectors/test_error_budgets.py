from typing import Any

import pytest

from dlqadmin.connectors.connect_clusters import ENGINE, ConnectorKey
from dlqadmin.connectors.documents import ErrorBudgetDocument, ErrorLimit
from dlqadmin.connectors.error_budgets import ErrorRules, budget, nearest_to_failing, rules

MINUTE_MS = 60_000
NOW = 1_795_230_750_000
CONTINUE = {"processing": "my.Handler", "production": "DefaultProductionExceptionHandler"}
SINK_HANDLERS = {
    "processing.exception.handler": "LogAndContinueProcessingExceptionHandler",
    "deserialization.exception.handler": "LogAndContinueExceptionHandler",
}
FAIL = {"processing": "org.apache.kafka.streams.errors.LogAndFailProcessingExceptionHandler"}
C = ConnectorKey(ENGINE, "c")


def told(limit: int = -1, used: int = 0, rate_limit: int = -1, rate_used: int = 0, **other: Any) -> ErrorBudgetDocument:
    limits = {"limit": limit, "used": used, "rate_limit": rate_limit, "rate_used": rate_used}
    tolerance = other.pop("tolerance", limits)
    state, pace = other.pop("state", "RUNNING"), other.pop("pace", None)
    return budget(state, tolerance, {"last-failure-timestamp": NOW}, ErrorRules(**other), pace, NOW)


@pytest.mark.parametrize(
    ("given", "risk", "left"),
    [
        ({"limit": 10, "used": 11, "state": "FAILED"}, "failed", 0),
        ({"limit": 10, "used": 10}, "exhausted", 0),
        ({"limit": -1, "rate_limit": 5, "rate_used": 5}, "exhausted", 0),
        ({"limit": 10, "used": 5}, "near", 5),
        ({"limit": 500, "used": 1, "rate_limit": 4, "rate_used": 2}, "near", 2),
        ({"limit": 500, "used": 10, "pace": 490.0}, "within", 490),
        ({"limit": 500, "used": 10, "pace": 491.0}, "near", 490),
        ({"limit": 10, "used": 4}, "within", 6),
        ({"limit": 0, "rate_limit": 0}, "fail_fast", 0),
        ({"limit": 500, "rate_limit": 0}, "fail_fast", 0),
        ({"limit": 10}, "unused", 10),
        ({"limit": -1, "used": 9999}, "unlimited", None),
        ({"limit": 0, "used": 12, "limited": False, "handlers": CONTINUE}, "handler", None),
        ({"limit": 0, "limited": False}, "fail_fast", None),
        ({"limit": 0, "limited": False, "handlers": FAIL}, "fail_fast", None),
        ({"limit": 0, "limited": False, "handlers": CONTINUE, "state": "FAILED"}, "failed", None),
        ({"limit": 10, "used": 9, "handlers": CONTINUE}, "near", 1),
        ({"tolerance": {}}, "unknown", None),
    ],
)
def test_the_risk_says_how_near_a_task_is_to_failing(given: dict[str, Any], risk: str, left: int | None) -> None:
    found = told(**given)
    assert (found.risk, found.left) == (risk, left)


def test_a_budget_tells_both_limits_apart() -> None:
    found = told(limit=10, used=3, rate_limit=-1, rate_used=0)
    assert found.total == ErrorLimit(limit=10, used=3, left=7)
    assert found.rate == ErrorLimit(limit=-1, used=0, left=None)


@pytest.mark.parametrize(
    ("pace", "empty_in_ms"), [(None, None), (0.0, None), (8.0, 3_600_000), (0.001, 28_800_000_000)]
)
def test_at_the_pace_of_the_last_hour_the_error_after_those_left_fails_it(
    pace: float | None, empty_in_ms: int | None
) -> None:
    assert told(limit=10, used=3, pace=pace).empty_in_ms == empty_in_ms


@pytest.mark.parametrize("given", [{"limited": False}, {"state": "FAILED"}])
def test_what_limits_do_not_decide_or_have_decided_uses_nothing_up(given: dict[str, Any]) -> None:
    assert told(limit=10, used=3, pace=8.0, **given).empty_in_ms is None


def test_the_nearest_to_failing_come_first_and_harmless_ones_not_at_all() -> None:
    given: list[dict[str, Any]] = [
        {"limit": -1},
        {"limit": 10},
        {"limit": 0, "rate_limit": 0},
        {"limit": 1000, "used": 100},
        {"limit": 1000, "used": 10, "pace": 100.0},
        {"limit": 10, "used": 9},
        {"limit": 10, "used": 10},
        {"limit": 10, "used": 11, "state": "FAILED"},
    ]
    found = [
        (row.task, row.risk) for row in nearest_to_failing((C, number, told(**one)) for number, one in enumerate(given))
    ]
    assert found == [(7, "failed"), (6, "exhausted"), (5, "near"), (4, "within"), (3, "within"), (2, "fail_fast")]


def test_many_failed_tasks_do_not_hide_the_next_one_to_fail() -> None:
    failed = [(C, number, told(limit=1, used=2, state="FAILED")) for number in range(9)]
    near = (C, 9, told(limit=10, used=9))
    assert [row.task for row in nearest_to_failing([*failed, near])] == [0, 1, 2, 3, 4, 9]


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({}, MINUTE_MS),
        ({"errors.tolerance.rate.duration": "hour"}, 3_600_000),
        ({"errors.tolerance.rate.duration.ms": "1500"}, 1500),
        ({"errors.tolerance.rate.duration": "a while", "errors.nonsense": "x"}, MINUTE_MS),
    ],
)
def test_the_window_is_the_configured_one(config: dict[str, str], expected: int) -> None:
    assert rules(config, "sink").window_ms == expected


def test_handlers_are_told_by_what_they_decide_about() -> None:
    config = {"processing.exception.handler": "a.P", "default.production.exception.handler": "a.Q", "topics": "t"}
    assert rules(config, "source").handlers == {"processing": "a.P", "production": "a.Q"}
    assert rules(config, "sink").handlers == {"processing": "a.P"}
    assert rules({"processing.exception.handler": ""}, "stream").handlers == {}


def test_handlers_alone_decide_in_a_stream_without_limits() -> None:
    assert rules({}, "stream").limited is False
    assert rules({"errors.tolerance.limit": "3", "processors": "a"}, "stream").limited is True


@pytest.mark.parametrize("limit", ["0", "10", "-1"])
def test_handlers_alone_decide_in_a_sink_that_names_them_for_all_its_stages(limit: str) -> None:
    own = rules({**SINK_HANDLERS, "errors.tolerance.limit": limit}, "sink")
    tolerance = {"limit": int(limit), "used": 4000, "rate_limit": -1, "rate_used": 0}
    found = budget("RUNNING", tolerance, {"last-failure-timestamp": NOW}, own, 100.0, NOW)
    assert (found.risk, found.decided_by) == ("handler", "handlers")
    assert (found.left, found.total, found.rate, found.empty_in_ms) == (None,) * 4


def test_beside_a_handler_for_some_stages_the_limits_go_on_deciding_about_the_others() -> None:
    own = rules({"processing.exception.handler": "my.Handler"}, "sink")
    tolerance = {"limit": 10, "used": 10, "rate_limit": -1, "rate_used": 0}
    found = budget("RUNNING", tolerance, {"last-failure-timestamp": NOW}, own, None, NOW)
    assert (found.risk, found.decided_by, found.left) == ("exhausted", "limits", 0)
    (row,) = nearest_to_failing([(C, 0, found)])
    assert row.handlers == {"processing": "my.Handler"}
